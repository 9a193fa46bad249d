package httpapi

import (
	"slices"
	"testing"

	"evalctl/daemon/store"
)

func TestChangedBy(t *testing.T) {
	paths, transcripts := changedBy([]store.Op{
		{Kind: store.OpWrite, Path: "plain.md", Data: []byte("text")},
		{Kind: store.OpWrite, Path: "talk.md", Data: []byte("---\nsource: extract\n---\nuser: hello")},
		{Kind: store.OpAppend, Path: "log.md", Data: []byte("source: extract")},
		{Kind: store.OpDelete, Path: "old.md"},
		{Kind: store.OpRename, Path: "from.md", To: "to.md"},
	})
	if want := []string{"plain.md", "talk.md", "old.md", "from.md", "to.md"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
	if want := []string{"talk.md", "to.md"}; !slices.Equal(transcripts, want) {
		t.Errorf("transcripts %q, want %q", transcripts, want)
	}
}
