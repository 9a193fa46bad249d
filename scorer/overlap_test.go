package scorer

import (
	"encoding/json"
	"math"
	"testing"

	"evalctl/internal/filetest"
)

// TestOverlap compares stems, token F1 and BLEU-1 with those of NLTK and of LoCoMo's rules, which
// testdata/overlap/vectors.py computes.
func TestOverlap(t *testing.T) {
	data := filetest.Read(t, "testdata/overlap/vectors.json")
	var vectors struct {
		Stems map[string]string `json:"stems"`
		Pairs []struct {
			Category, Answer, Gold string
			F1, Bleu1              float64
		} `json:"pairs"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Stems) < 80 || len(vectors.Pairs) < 8 {
		t.Fatal(err, len(vectors.Stems))
	}
	for word, want := range vectors.Stems {
		if got := stem(word); got != want {
			t.Errorf("the stem of %s is %s, want %s", word, got, want)
		}
	}
	for _, p := range vectors.Pairs {
		item := Item{ID: "q", Reference: p.Gold, Answer: p.Answer, Category: p.Category}
		for _, of := range []struct {
			scorer Overlap
			want   float64
		}{{TokenF1(), p.F1}, {Bleu1(), p.Bleu1}} {
			v, err := of.scorer.Score(t.Context(), item)
			if err != nil || math.Abs(v.Score-of.want) > 1e-9 {
				t.Errorf("%s of %q and %q is %v, want %v (%v)", of.scorer.Name(), p.Answer, p.Gold, v.Score, of.want, err)
			}
		}
	}
}

// TestRougeL has values by hand: the longest common subsequence has four stems of four and of five.
func TestRougeL(t *testing.T) {
	item := Item{ID: "q", Reference: "she cooked red soup yesterday", Answer: "She cooks soup yesterday!"}
	v, err := RougeL().Score(t.Context(), item)
	if want := 8.0 / 9; err != nil || math.Abs(v.Score-want) > 1e-9 {
		t.Errorf("got %v, want %v (%v)", v.Score, want, err)
	}
	item.Answer = "yesterday soup"
	if v, _ = RougeL().Score(t.Context(), item); math.Abs(v.Score-2.0/7) > 1e-9 {
		t.Errorf("in the other order it is %v, want %v", v.Score, 2.0/7)
	}
	if err := RougeL().Check(Item{ID: "q"}); err == nil {
		t.Error("an item without a reference is scored")
	}
	abstained := Item{ID: "q", Type: TypeAbstention, Reference: "x", Answer: "That is Not Mentioned."}
	if v, _ = TokenF1().Score(t.Context(), abstained); v.Score != 1 {
		t.Errorf("an abstention scores %v", v.Score)
	}
}
