package pgcatalog_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

// replica is a brain.Service on a database that it shares with others.
type replica struct {
	*brain.Service
	db *pgstore.DB
}

func openReplica(t testing.TB, url string) *replica {
	t.Helper()
	db, err := pgstore.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	s, err := brain.Open(t.Context(), brain.Config{
		Catalog: pgcatalog.New(db, logger), Snapshots: pgcatalog.NewSnapshots(db.Pool()), Persistent: true,
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return db.Open(ctx, r.UID, nil)
		},
		IndexConfig: brain.IndexConfig{SearchWait: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{s, db}
	t.Cleanup(func() { r.close(t) })
	return r
}

// close closes the replica, once.
func (r *replica) close(t testing.TB) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func (r *replica) find(t testing.TB, id string) brain.Handle {
	t.Helper()
	if err := r.Refresh(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	h, err := r.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (r *replica) write(t testing.TB, id string, documents map[string]string) {
	t.Helper()
	h := r.find(t, id)
	defer h.Acquire()()
	st, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var c store.Commit
	for path, text := range documents {
		c.Ops = append(c.Ops, store.Op{Kind: store.OpWrite, Path: path, Data: []byte(text)})
	}
	if err := st.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// search returns the paths that a query finds.
func (r *replica) search(t testing.TB, id, query string) string {
	t.Helper()
	found, err := r.find(t, id).Search(t.Context(), search.Query{Text: query, Mode: protocol.ModeBM25, TopK: 10})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, hit := range found.Hits {
		paths = append(paths, hit.Path)
	}
	return strings.Join(paths, " ")
}

func (r *replica) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := r.db.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// savedSeq returns the commit of the snapshot of the only brain that has one.
func (r *replica) savedSeq(t testing.TB) (seq int64) {
	t.Helper()
	if err := r.db.Pool().QueryRow(t.Context(), "SELECT coalesce(max(seq), 0) FROM evalctl.snapshots").Scan(&seq); err != nil {
		t.Fatal(err)
	}
	return seq
}

// manyDocuments is enough for a snapshot.
func manyDocuments() map[string]string {
	documents := map[string]string{}
	for i := range 5100 {
		documents[fmt.Sprintf("d%04d.md", i)] = fmt.Sprintf("document number%d", i)
	}
	return documents
}

// A replica builds its index from the snapshot of another one and from the changes since, without
// looking at the other documents. That shows in a document that is gone without a change.
func TestIndexFromSnapshot(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	one := openReplica(t, url)
	if _, err := one.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	one.write(t, "a", manyDocuments())
	if got := one.search(t, "a", "number77"); got != "d0077.md" {
		t.Fatalf("found %q", got)
	}
	one.close(t)

	two := openReplica(t, url)
	if seq := two.savedSeq(t); seq != 1 {
		t.Fatalf("the snapshot is of commit %d, want 1", seq)
	}
	two.exec(t, "DELETE FROM evalctl.documents WHERE path IN ('d0078.md')")
	two.write(t, "a", map[string]string{"d0079.md": "now a marmot", "new.md": "a beaver"})
	two.write(t, "a", map[string]string{"newer.md": "an otter"})
	for query, want := range map[string]string{
		"number77": "d0077.md", "number78": "d0078.md", "number79": "", "marmot": "d0079.md",
		"beaver": "new.md", "otter": "newer.md",
	} {
		if got := two.search(t, "a", query); got != want {
			t.Errorf("from the snapshot and its changes: %s is in %q, want %q", query, got, want)
		}
	}
	two.close(t)

	three := openReplica(t, url)
	three.exec(t, `WITH gone AS (DELETE FROM evalctl.changes RETURNING seq)
		UPDATE evalctl.heads SET pruned = (SELECT max(seq) FROM gone)`)
	for query, want := range map[string]string{"number77": "d0077.md", "number78": "", "marmot": "d0079.md", "otter": "newer.md"} {
		if got := three.search(t, "a", query); got != want {
			t.Errorf("without changes: %s is in %q, want %q", query, got, want)
		}
	}
}

// Of several replicas, one saves what all have read.
func TestOneReplicaSaves(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	one, two := openReplica(t, url), openReplica(t, url)
	if _, err := one.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	one.write(t, "a", manyDocuments())
	for _, r := range []*replica{one, two} {
		if got := r.search(t, "a", "number77"); got != "d0077.md" {
			t.Fatalf("found %q", got)
		}
	}
	one.close(t)
	var saved, again string
	const written = "SELECT at::text FROM evalctl.snapshots"
	if err := two.db.Pool().QueryRow(t.Context(), written).Scan(&saved); err != nil {
		t.Fatal(err)
	}
	two.close(t)
	three := openReplica(t, url)
	if err := three.db.Pool().QueryRow(t.Context(), written).Scan(&again); err != nil || again != saved {
		t.Errorf("the second replica saved the same again: at %s, %v, want %s", again, err, saved)
	}
	// A damaged snapshot is replaced although it is of the same commit.
	three.exec(t, "UPDATE evalctl.snapshot_parts SET data = overlay(data PLACING '\\x00000000' FROM 1000)")
	if got := three.search(t, "a", "number77"); got != "d0077.md" {
		t.Errorf("found %q", got)
	}
	three.close(t)
	four := openReplica(t, url)
	if err := four.db.Pool().QueryRow(t.Context(), written).Scan(&again); err != nil || again == saved {
		t.Errorf("the damaged snapshot is still there (%v)", err)
	}
}

// An index whose changes are no longer kept is built again.
func TestIndexMissesChanges(t *testing.T) {
	t.Parallel()
	r := openReplica(t, postgrestest.Database(t))
	if _, err := r.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	r.write(t, "a", map[string]string{"a.md": "a marmot", "b.md": "a beaver"})
	if got := r.search(t, "a", "marmot"); got != "a.md" {
		t.Fatalf("found %q", got)
	}
	for round := range 3 {
		// A commit of another process, pruned before this one has seen it.
		r.exec(t, `WITH gone AS (DELETE FROM evalctl.changes RETURNING seq),
			head AS (UPDATE evalctl.heads SET pruned = 1 + greatest(pruned, (SELECT max(seq) FROM gone))
				RETURNING brain, pruned AS seq)
			UPDATE evalctl.documents d SET data = $1::bytea, size = length($1::bytea), version = head.seq
			FROM head WHERE d.brain = head.brain AND path = 'b.md'`, []byte(fmt.Sprint("an otter", round)))
		if got := r.search(t, "a", fmt.Sprint("otter", round)); got != "b.md" {
			t.Errorf("round %d: found %q, want b.md", round, got)
		}
		if got := r.search(t, "a", "marmot"); got != "a.md" {
			t.Errorf("round %d: found %q, want a.md", round, got)
		}
	}
}

// A first search does not wait for a snapshot that the server does not deliver. The index is built
// from the documents, and that is counted.
func TestSnapshotThatHangs(t *testing.T) {
	pgcatalog.HurrySnapshots(t, 200*time.Millisecond)
	url := postgrestest.Database(t)
	r := openReplica(t, url+"&lock_timeout=0&statement_timeout=0")
	if _, err := r.Create(t.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	r.write(t, "a", map[string]string{"a.md": "a marmot"})
	tx, err := openDB(t, url).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "LOCK TABLE evalctl.snapshots IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	if got := r.search(t, "a", "marmot"); got != "a.md" || r.UnusableSnapshots() != 1 {
		t.Errorf("found %q, and %d snapshots were unusable, want 1", got, r.UnusableSnapshots())
	}
}
