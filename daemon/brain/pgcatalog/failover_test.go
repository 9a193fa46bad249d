package pgcatalog_test

import (
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/postgres/postgrestest"
)

// TestIndexAheadOfEvents has a replica whose index has read commits that are lost with the server
// before there was an event of them. The test changes the documents without an event instead.
func TestIndexAheadOfEvents(t *testing.T) {
	t.Parallel()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Settings: []string{"fsync=off"}})
	r := openReplica(t, cluster.Database())
	if _, err := r.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	r.write(t, "a", map[string]string{"changed.md": "kettle", "lost.md": "kettle", "same.md": "kettle"})
	if got := r.search(t, "a", "kettle"); got == "" {
		t.Fatal("found nothing")
	}
	r.exec(t, "UPDATE evalctl.documents SET data = 'teapot', version = 0 WHERE path = 'changed.md'")
	r.exec(t, "DELETE FROM evalctl.documents WHERE path = 'lost.md'")
	cluster.Stop("immediate")
	cluster.Start()
	r.db.Pool().Reset() // the broken connections
	for query, want := range map[string]string{"kettle": "same.md", "teapot": "changed.md"} {
		if got := r.search(t, "a", query); got != want {
			t.Errorf("a search for %s found %q, want %q", query, got, want)
		}
	}
}
