package fsstore

import (
	"testing"

	"evalctl/daemon/store"
)

// TestBrokenIsReported: after a batch that can be neither written to the log nor erased there, Broken
// returns true. Reopening repairs the store.
func TestBrokenIsReported(t *testing.T) {
	dir := t.TempDir()
	b, err := open(t.Context(), dir, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(b, nil)
	two := store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a.md"}, {Kind: store.OpWrite, Path: "b.md"}}}
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Fatalf("%v, broken %v", err, st.Broken())
	}
	b.active.file.Close()
	if err := st.Apply(t.Context(), two); err == nil || !st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
	if err := st.Write(t.Context(), "c.md", nil); !store.IsReadOnly(err) {
		t.Errorf("got %v", err)
	}
	_ = st.Close() // the log is closed already
	st, err = Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Apply(t.Context(), two); err != nil || st.Broken() {
		t.Errorf("%v, broken %v", err, st.Broken())
	}
}
