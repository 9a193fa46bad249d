package ingest

import (
	"path/filepath"
	"testing"

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
		if err := r.add(b); err != nil {
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
