package fsstore

import (
	"testing"

	"evalctl/daemon/store"
)

// TestBrokenIsReported: after a batch whose journal can be neither written nor emptied, Broken
// returns true. Reopening repairs the store.
func TestBrokenIsReported(t *testing.T) {
	dir := t.TempDir()
	b, err := open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(b, nil)
	two := store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a.md"}, {Kind: store.OpWrite, Path: "b.md"}}}
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Fatalf("%v, broken %v", err, st.Broken())
	}
	b.journal.Close()
	if err := st.Apply(t.Context(), two); err == nil || !st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
	if err := st.Write(t.Context(), "c.md", nil); !store.IsReadOnly(err) {
		t.Errorf("got %v", err)
	}
	_ = st.Close() // the journal is closed already
	st, err = Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
}
