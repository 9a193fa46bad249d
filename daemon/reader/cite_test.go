package reader

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

var citeHits = []search.Hit{
	{ChunkID: "a.md#0", Path: "a.md", Text: "Ana lives in Tromsø. She moved there in May 2023.\n- keeps two grey cats named Fig and Plum\n- plays the cello on Sundays"},
	{ChunkID: "b.md#0", Path: "b.md", Text: "Dr. Berg sold the red bicycle for 3.50 euros. Nobody asked why!"},
}

func TestCite(t *testing.T) {
	type c struct {
		chunk, cited, quote string
	}
	tests := []struct {
		name   string
		answer string
		want   []c
	}{
		{"verbatim", "Ana lives in Tromsø. Really.", []c{{"a.md#0", "Ana lives in Tromsø.", "Ana lives in Tromsø."}}},
		{"verbatim after wide characters", "日本… 🙂! She moved there in May 2023.", []c{
			{"a.md#0", "She moved there in May 2023.", "She moved there in May 2023."}}},
		{"abbreviation and number inside", "Dr. Berg sold the red bicycle for 3.50 euros.", []c{
			{"b.md#0", "Dr. Berg sold the red bicycle for 3.50 euros.", "Dr. Berg sold the red bicycle for 3.50 euros."}}},
		{"bullets joined by a space", "keeps two grey cats named Fig and Plum plays the cello on Sundays", []c{
			{"a.md#0", "keeps two grey cats named Fig and Plum", "keeps two grey cats named Fig and Plum"},
			{"a.md#0", "plays the cello on Sundays", "plays the cello on Sundays"}}},
		{"longest part, from the chunk that has it", "They say Berg sold the red bicycle for money", []c{
			{"b.md#0", "Berg sold the red bicycle for", "Berg sold the red bicycle for"}}},
		{"marker", "Her home is Tromsø [1].", []c{{"a.md#0", "Her home is Tromsø.", "Ana lives in Tromsø."}}},
		{"marker after the full stop", "Her home is Tromsø. [1] a bicycle was sold [2].", []c{
			{"a.md#0", "Her home is Tromsø.", "Ana lives in Tromsø."},
			{"b.md#0", "a bicycle was sold.", "Dr. Berg sold the red bicycle for 3.50 euros."}}},
		{"several markers", "She has cats [1], and he a bicycle [1, 2][1].", []c{
			{"a.md#0", "She has cats, and he a bicycle.", "- keeps two grey cats named Fig and Plum"},
			{"b.md#0", "She has cats, and he a bicycle.", "Dr. Berg sold the red bicycle for 3.50 euros."}}},
		{"marker before the sentence", "[2] A bicycle was sold. \n[1]Her home is Tromsø.", []c{
			{"b.md#0", "A bicycle was sold.", "Dr. Berg sold the red bicycle for 3.50 euros."},
			{"a.md#0", "Her home is Tromsø.", "Ana lives in Tromsø."}}},
		{"markers on a line of their own", "Her home is Tromsø.\n [1]\nA bicycle was sold.\n\n[2] \n", []c{
			{"a.md#0", "Her home is Tromsø.", "Ana lives in Tromsø."},
			{"b.md#0", "A bicycle was sold.", "Dr. Berg sold the red bicycle for 3.50 euros."}}},
		{"marked sentence that a chunk has verbatim", "Nobody asked why! [2]", []c{
			{"b.md#0", "Nobody asked why!", "Nobody asked why!"}}},
		{"marked sentence that another chunk has", "Nobody asked why! [1]", []c{
			{"a.md#0", "Nobody asked why!", "Ana lives in Tromsø."},
			{"b.md#0", "Nobody asked why!", "Nobody asked why!"}}},
		{"marker of a chunk without a common word", "Drei [1].", []c{{"a.md#0", "Drei.", "Ana lives in Tromsø."}}},
		{"markers of no chunk", "She has cats [0] [3] [x] [99999999999999999999].", nil},
		{"three words are chance", "on Sundays she plays the cello", nil},
		{"abstention", Abstention, nil},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []c
			answer, marks := filtered(citeHits, tt.answer)
			for _, e := range cite(answer, marks, citeHits) {
				got = append(got, c{e.ChunkID, string([]rune(answer)[e.AnswerStart:e.AnswerEnd]), e.Quote})
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(c{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawText draws texts that have pieces in common, with everything that matters for
// splitting and with characters of one to four bytes.
func drawText(t *rapid.T, name string) string {
	piece := rapid.SampledFrom([]string{
		"Ana", "lives", "in", "Tromsø", "日本", "🙂", "cats", "e.g", "Dr", "3.50", "plays", "the", "cello",
		" ", " ", " ", " ", "\n", "\r\n", "\t", ". ", "! ", "? ", ".", "\"", ")", "[", "]", "[1]", "[2]", "[1, 2]", " [9]", "- ", "é",
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, name), "")
}

// A heading is quoted only if it has something in common with the claim.
func TestQuoteIsNoHeading(t *testing.T) {
	const text = "# Cats\n## Names\nFig and Plum.\nGrey."
	for claim, want := range map[string]string{"Two.": "Fig and Plum.", "Cats.": "# Cats", "grey": "Grey."} {
		if got := bestSentence(text, claim); got != want {
			t.Errorf("%s: got %q, want %q", claim, got, want)
		}
	}
	if got := bestSentence("# Cats", "Two."); got != "# Cats" {
		t.Errorf("got %q", got)
	}
}

func TestCitationsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hits := make([]search.Hit, rapid.IntRange(0, 3).Draw(t, "hits"))
		answer := ""
		for i := range hits {
			hits[i] = search.Hit{ChunkID: string(rune('a' + i)), Path: "p", Text: drawText(t, "chunk")}
			if rapid.Bool().Draw(t, "quoted") {
				answer += hits[i].Text + " "
			}
		}
		answer += drawText(t, "answer")
		answer, marks := filtered(hits, answer)
		for _, c := range cite(answer, marks, hits) {
			checkCitation(t, answer, len(marks) > 0, hits, c)
		}
	})
}

func checkCitation(t *rapid.T, answer string, marked bool, hits []search.Hit, c protocol.CitationEvent) {
	length := utf8.RuneCountInString(answer)
	if c.AnswerStart < 0 || c.AnswerStart >= c.AnswerEnd || c.AnswerEnd > length {
		t.Fatalf("%+v: not a span of an answer of %d characters", c, length)
	}
	hit := hits[c.ChunkID[0]-'a']
	if c.Quote == "" || !strings.Contains(hit.Text, c.Quote) {
		t.Fatalf("%+v: the quote is not in %q", c, hit.Text)
	}
	cited := string([]rune(answer)[c.AnswerStart:c.AnswerEnd])
	if !marked && cited != c.Quote {
		t.Fatalf("%+v: %q is cited without a marker and is not the quote", c, cited)
	}
}

func FuzzCite(f *testing.F) {
	f.Add("Ana lives in Tromsø. [1]", "Ana lives in Tromsø.")
	f.Add("[[[[1]]]] [1,2", "x")
	f.Add("a.\xff b. [1]", "\xff")
	f.Fuzz(func(t *testing.T, answer, chunk string) {
		hits := []search.Hit{{Text: chunk}}
		answer, marks := filtered(hits, answer)
		for _, c := range cite(answer, marks, hits) {
			if c.AnswerEnd > utf8.RuneCountInString(answer) || !strings.Contains(chunk, c.Quote) {
				t.Fatalf("%+v", c)
			}
		}
	})
}
