package ingest

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// TestPrice: what filling brains cost is divided among them by their sessions, to the last
// nano-dollar, and is there when the record is opened again.
func TestPrice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "brains.json")
	r, err := OpenRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	brains := []brain{
		{name: "a", signature: "a", sessions: 3}, {name: "b", signature: "b", sessions: 7}, {name: "c", signature: "c", sessions: 1},
		{name: "unpriced", signature: "u", sessions: 5},
	}
	for _, b := range brains {
		if err := r.add(b, seed.Loss{}); err != nil {
			t.Fatal(err)
		}
	}
	const total = llm.Dollar + 1
	if err := r.price(brains[:3], total); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if r, err = OpenRecord(path); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.cost(brains[3]) != nil || r.cost(brain{name: "d"}) != nil {
		t.Error("a brain without a price has one")
	}
	var sum llm.USD
	for _, b := range brains[:3] {
		usd := r.cost(b)
		if usd == nil {
			t.Fatalf("%s has no price", b.name)
		}
		if share := total * llm.USD(b.sessions) / 11; *usd < share-1 || *usd > share+1 {
			t.Errorf("%s: %s, want about %s", b.name, *usd, share)
		}
		sum += *usd
	}
	if sum != total {
		t.Errorf("the parts are %s, not %s", sum, total)
	}
}

// forgetful is a service that keeps what of its texts is never found.
type forgetful struct {
	*target.Endpoint
	loss *sharedLoss
}

type sharedLoss struct {
	mu sync.Mutex
	seed.Loss
}

// Store implements target.Service.
func (f forgetful) Store(d result.Dialect) target.Store {
	return forgetfulStore{f.Endpoint.Store(d), f.loss}
}

type forgetfulStore struct {
	target.Store
	loss *sharedLoss
}

// Unfound implements target.Notices.
func (s forgetfulStore) Unfound(missing, searched int) {
	s.loss.mu.Lock()
	defer s.loss.mu.Unlock()
	s.loss.Missing += missing
	s.loss.Searched += searched
}

// TestLossIsKept checks that a replay which reuses brains says, as the one that has filled them, what
// of them is never found.
func TestLossIsKept(t *testing.T) {
	b, ref := bench(t, instances), serve(t, nil)
	record := filepath.Join(t.TempDir(), "brains.json")
	loss := func() (seed.Loss, int) {
		t.Helper()
		var l sharedLoss
		cfg := config(t, ref.URL, Bulk)
		cfg.Record, cfg.Service = record, forgetful{endpointOf(cfg), &l}
		f := fill(t, cfg, b, all(b)...)
		return l.Loss, f.Report.Reused
	}
	if l, reused := loss(); l != (seed.Loss{Searched: 5}) || reused != 0 {
		t.Errorf("filled: %+v, %d reused", l, reused)
	}
	data := filetest.Read(t, record)
	data = []byte(strings.ReplaceAll(string(data), `"missing": 0`, `"missing": 2`))
	filetest.Write(t, record, data)
	if l, reused := loss(); l != (seed.Loss{Missing: 4, Searched: 5}) || reused != 2 {
		t.Errorf("reused: %+v, %d reused", l, reused)
	}
}
