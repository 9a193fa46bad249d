package seed

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// noticeStore is a store of a service that keeps findings.
type noticeStore struct {
	target.Store
	missing, searched int
}

func (n *noticeStore) Unfound(missing, searched int) { n.missing, n.searched = missing, searched }

// TestSomeNeverFound checks that documents which are never found are counted, that a memory may take
// any time while it finds more, and that one that finds nothing is an error.
func TestSomeNeverFound(t *testing.T) {
	const step = 20 * time.Second
	for _, c := range []struct {
		name    string
		status  int
		finds   func(since time.Duration) int // of 40 documents
		missing int
		took    time.Duration
		err     string
	}{
		{"all at once", 200, func(time.Duration) int { return 40 }, 0, 0, ""},
		{"slow", 200, func(since time.Duration) int { return int(since / step) }, 0, 40 * step, ""},
		{"some never", 200, func(since time.Duration) int { return min(int(since/step), 27) }, 13, 27*step + searchableWithin, ""},
		{"none", 200, func(time.Duration) int { return 0 }, 0, searchableWithin, "none of 40 documents that were written is found by its own words after 30s"},
		{"busy", 503, nil, 0, searchableWithin, "search for the document d0000.md within 30s: "},
		{"broken", 400, nil, 0, 0, "search for the seeded document d0000.md: "},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			e := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if c.status != 200 {
					w.WriteHeader(c.status)
					return
				}
				var body strings.Builder
				for i := range c.finds(time.Since(start)) {
					fmt.Fprintf(&body, `,{"path":"d%04d.md"}`, i)
				}
				_, _ = fmt.Fprintf(w, `{"chunks":[%s]}`, strings.TrimPrefix(body.String(), ","))
			})
			store := &noticeStore{Store: e.Store(result.Auto)}
			docs := numbered(40).Docs
			last, query := probeOf(docs)
			err := (&Brain{store: store, id: "b"}).awaitSearchable(t.Context(), docs, last, query)
			took := time.Since(start)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			if err == nil && (store.missing != c.missing || store.searched != 40) {
				t.Errorf("%s: %d of %d are missing", c.name, store.missing, store.searched)
			}
			if took < c.took || took > c.took+step {
				t.Errorf("%s: it took %v, want %v", c.name, took, c.took)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, most int
		want    string
	}{{3, 5, "[0 1 2]"}, {10, 5, "[0 2 4 6 8]"}, {0, 5, "[]"}, {7, 3, "[0 2 4]"}} {
		if got := fmt.Sprint(spread(c.n, c.most)); got != c.want {
			t.Errorf("%d of %d: %s", c.most, c.n, got)
		}
	}
}
