package pgcatalog_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// TestIndexAheadOfEvents has a replica whose index has read commits that are lost with the server
// before there was an event of them. The test changes the documents without an event instead.
func TestIndexAheadOfEvents(t *testing.T) {
	t.Parallel()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
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

// TestRenamed exchanges a database by its name, as after a backup was restored next to it. What the
// server answers meanwhile is an outage, and no error of the user.
func TestRenamed(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Database(t)
	u, err := url.Parse(conn)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	admin, err := postgres.Open(t.Context(), u.String(), postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	c := openCatalog(t, conn)
	defer c.Close()
	if _, err := c.Lookup(t.Context(), "", "a"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ sql, code string }{
		{"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false", ""},
		{"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + name + "'", "55000"},
		{"ALTER DATABASE " + name + " RENAME TO " + name + "_old", "3D000"},
		{"ALTER DATABASE " + name + "_old RENAME TO " + name, "55000"},
		{"ALTER DATABASE " + name + " ALLOW_CONNECTIONS true", ""},
	} {
		// A session that was about to begin when others were ended has to be ended too.
		for changed := int64(1); changed > 0; {
			tag, err := admin.Exec(t.Context(), step.sql)
			if err != nil {
				t.Fatal(err)
			}
			changed = tag.RowsAffected()
		}
		_, err := c.Lookup(t.Context(), "", "a")
		for err != nil && !postgres.IsCode(err, step.code) && errors.Is(err, store.ErrUnavailable) && t.Context().Err() == nil {
			_, err = c.Lookup(t.Context(), "", "a") // the error of a connection that was ended
		}
		if (err != nil) != (step.code != "") || err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v, want SQLSTATE %q of a store that is unavailable", step.sql, err, step.code)
		}
	}
}
