package seed

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// searchedStore is a Store that a test searches.
type searchedStore struct {
	target.Store
	search func() error
}

func (s searchedStore) Search(context.Context, string, string, int) ([]result.Chunk, error) {
	return []result.Chunk{{Text: "a"}}, s.search()
}

// TestSearchAgain checks that a search is tried again while the service is busy or does not
// answer, that a refusal is not, and that a search ends.
func TestSearchAgain(t *testing.T) {
	busy := target.TransientFailure(result.KindStatus, "busy", 0)
	silent := fmt.Errorf("%w within 1s", target.ErrNoAnswer)
	refusal := target.NewFailure(result.KindDaemon, "no such brain")
	for _, c := range []struct {
		err     error
		fails   int // how often, -1 for always
		calls   int // 0 for several
		refused bool
	}{
		{nil, 0, 1, false}, {busy, 2, 3, false}, {silent, 2, 3, false}, {refusal, -1, 1, true}, {busy, -1, 0, false}, {silent, -1, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			store := searchedStore{search: func() error {
				if calls++; calls <= c.fails || c.fails < 0 {
					return c.err
				}
				return nil
			}}
			chunks, err := Search(t.Context(), store, "b", "q", 1)
			if (err != nil) != (c.fails < 0) || Refused(err) != c.refused || c.calls > 0 && calls != c.calls || c.calls == 0 && calls < 2 {
				t.Errorf("%+v: %v after %d calls", c, err, calls)
			}
			if err == nil && len(chunks) != 1 {
				t.Errorf("%+v: found %v", c, chunks)
			}
		})
	}
}

// TestFindsAny has a service that finds a text by its own words only, and has lost all texts but
// one.
func TestFindsAny(t *testing.T) {
	var docs []dataset.Doc
	for i := range 20 {
		docs = append(docs, dataset.Doc{Path: fmt.Sprintf("%d.md", i), Data: fmt.Appendf(nil, "word%d of %d", i, i)})
	}
	for kept := range docs {
		o := &oneBrain{docs: map[string]string{docs[kept].Path: string(docs[kept].Data)}}
		b := NewBrain(endpointAt(t, daemontest.New(t, o.serve).URL, ""), result.Auto, "b")
		b.id = "brain-7"
		if found, err := b.FindsAny(t.Context(), docs); !found || err != nil {
			t.Errorf("%d: not found, %v", kept, err)
		}
		clear(o.docs)
		if found, err := b.FindsAny(t.Context(), docs); found || err != nil {
			t.Errorf("%d: found after it was lost, %v", kept, err)
		}
	}
}
