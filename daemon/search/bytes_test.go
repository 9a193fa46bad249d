package search

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"evalctl/daemon/search/document"
)

// The estimate is 70 to 125 % of what the runtime reports, for brains of different kinds,
// built or read from a snapshot, also if documents have changed since.
func TestBytes(t *testing.T) {
	c := newCorpus()
	kinds := map[string]func(i int) document.Document{
		"notes": func(i int) document.Document {
			return document.Document{Path: fmt.Sprintf("notes/n%d.md", i), Title: c.text(4), Text: c.text(120)}
		},
		"turns": func(i int) document.Document {
			return document.Document{
				Path: fmt.Sprintf("conversations/c%d/session-%d/turn-%d.md", i/500, i/50, i), Title: fmt.Sprint("Turn ", i), Text: c.text(12),
				Tags: []string{fmt.Sprint("speaker-", i%2)}, Metadata: map[string]any{"session_id": fmt.Sprint("session-", i/50), "turn": i},
			}
		},
		"books": func(i int) document.Document {
			return document.Document{Path: fmt.Sprintf("b%d.md", i), Text: strings.Repeat("## "+c.text(3)+"\n\n"+c.text(200)+"\n\n", 20)}
		},
		"codes": func(i int) document.Document { // no word occurs twice
			var b strings.Builder
			for n := range 50 {
				fmt.Fprintf(&b, "x%dy%d ", i, n)
			}
			return document.Document{Path: fmt.Sprintf("c%d.txt", i), Text: b.String()}
		},
	}
	for name, document := range kinds {
		n := 600
		if name == "books" {
			n = 40
		}
		build := func() *Index {
			ix := New(nil)
			for i := range n {
				ix.Put(document(i))
			}
			return ix
		}
		check := func(how string, make func() *Index) {
			before := heap()
			ix := make()
			truth := heap() - before
			if got := ix.Bytes(); float64(got) < .7*float64(truth) || float64(got) > 1.25*float64(truth) {
				t.Errorf("%s, %s: %d KiB estimated for %d KiB", name, how, got>>10, truth>>10)
			} else {
				t.Logf("%s, %s: %d KiB estimated for %d KiB", name, how, got>>10, truth>>10)
			}
			runtime.KeepAlive(ix)
		}
		check("built", build)
		data := snapshot(t, build())
		read := func() *Index {
			ix, err := readSnapshot(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			return ix
		}
		check("read", read)
		check("changed", func() *Index {
			ix := read()
			for i := range n / 20 {
				ix.Put(document(20 * i))
			}
			return ix
		})
		check("compacted", func() *Index {
			ix := read()
			for i := range n / 3 {
				ix.Delete(document(3 * i).Path)
			}
			return ix
		})
		runtime.KeepAlive(data) // until its memory has been measured
	}
}
