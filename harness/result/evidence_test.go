package result

import (
	"slices"
	"testing"
)

func TestCompareEvidence(t *testing.T) {
	const ticket = "A single ticket on the Lorne ferry costs six euros."
	for _, c := range []struct {
		name     string
		evidence []string
		chunks   []Chunk
		topK     int
		want     []int
		recall   float64
	}{
		{"in a chunk", []string{ticket}, []Chunk{{Path: "a.md", Text: "x"}, {Path: "b.md", Text: ticket}}, 5, []int{2}, 1},
		{"the first words of the right document", []string{ticket}, []Chunk{{Path: "fares.md", Text: ticket[:40]}}, 5, []int{0}, 0},
		{"below top-k", []string{ticket}, []Chunk{{Text: "x"}, {Text: ticket}}, 1, []int{0}, 0},
		{"one of two", []string{ticket, "not there"}, []Chunk{{Text: ticket}}, 5, []int{1, 0}, 0.5},
		{"in two chunks by path", []string{ticket}, []Chunk{{Path: "a.md", Text: ticket[:28]}, {Path: "a.md", Text: ticket[28:]}}, 5, []int{2}, 1},
		{"in two chunks by id", []string{ticket}, []Chunk{{DocumentID: "7", Text: ticket[:28]}, {DocumentID: "7", Text: ticket[28:]}}, 5, []int{2}, 1},
		{"no texts", []string{ticket}, []Chunk{{Path: "a.md"}}, 5, []int{0}, 0},
		{"nothing", []string{ticket}, nil, 5, []int{0}, 0},
	} {
		r := Record{ExpectedEvidence: c.evidence, Reply: Reply{Retrieved: c.chunks}}
		r.CompareEvidence(c.topK)
		if e := r.Evidence; e == nil || !slices.Equal(e.Ranks, c.want) || e.Recall != c.recall || r.LacksEvidence() != (c.recall < 1) {
			t.Errorf("%s: %+v, want %v %v", c.name, e, c.want, c.recall)
		}
	}
	none := Record{Reply: Reply{Retrieved: []Chunk{{Text: ticket}}}}
	if none.CompareEvidence(5); none.Evidence != nil || none.LacksEvidence() {
		t.Errorf("without evidence: %+v", none.Evidence)
	}
	cut := Record{ExpectedEvidence: []string{ticket}, Reply: Reply{Retrieved: []Chunk{{Text: ticket}, {Text: "x", Cut: true}}}}
	if cut.CompareEvidence(1); cut.Evidence == nil {
		t.Errorf("cut below top-k: %+v", cut.Evidence)
	}
	if cut.CompareEvidence(2); cut.Evidence != nil || cut.LacksEvidence() {
		t.Errorf("cut: %+v", cut.Evidence)
	}
	lost := Record{ExpectedEvidence: []string{"x"}, Outcome: Scored, Reply: Reply{
		Retrieval: CompareWithGold(Gold([]string{"a.md"}, nil), []Chunk{{Path: "a.md"}}, 5, func(c Chunk) []string { return []string{c.Path} }),
	}}
	if at := lost.LostAt(AskBasic, 5); at != StageReader {
		t.Errorf("with the document, lost at %s", at)
	}
	if lost.CompareEvidence(5); lost.LostAt(AskBasic, 5) != StageRetrieval {
		t.Errorf("without the evidence, lost at %s", lost.LostAt(AskBasic, 5))
	}
}

func TestSizeOf(t *testing.T) {
	chunks := []Chunk{{Text: "two words"}, {Text: "é\n ü"}, {Text: "below top-k"}}
	if got, want := SizeOf(chunks, 2), (TextSize{Words: 4, Tokens: 3 + 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestGoldBy(t *testing.T) {
	matched := &MappedService{ByText: 3}
	for _, c := range []struct {
		name string
		res  Result
		want GoldKind
	}{
		{"recorded", Result{Gold: ByEvidence, Retrieval: &Retrieval{}}, ByEvidence},
		{"an older file", Result{Retrieval: &Retrieval{}}, byID},
		{"an older file, by text", Result{Retrieval: &Retrieval{}, Mapped: matched}, byText},
		{"no gold", Result{Mapped: matched}, ""},
	} {
		if got := c.res.GoldBy(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
