package search

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/search/document"
)

// TestConstants compares the constants that decide the ranking with their intended values, and with
// what docs/retrieval.md and docs/dev/ranking.md document about them. An empty text is not
// documented.
func TestConstants(t *testing.T) {
	var pages strings.Builder
	for _, page := range []string{"../../docs/retrieval.md", "../../docs/dev/ranking.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for _, c := range []struct {
		name       string
		got, want  float64
		documented string
	}{
		{"k1", defaultParameters.k1, 1.6, "| k1 | 1.6 |"},
		{"b", defaultParameters.b, 1, "| b | 1 |"},
		{"k3", defaultParameters.k3, 8, "| k3 | 8 |"},
		{"letter", defaultParameters.letter, .2, "| letters | 0.2 |"},
		{"weight of languages", defaultWeights.language, .3, "| `language` | 0.3 · the score so far"},
		{"slack", defaultParameters.slack, 10, "| length slack | 10 terms |"},
		{"beyond", defaultParameters.beyond, .5, "| beyond | 0.5 |"},
		{"scope", defaultParameters.scope, .1, "| scope | 0.1 |"},
		{"weight of text", fieldWeights[textField], 1, "tf   = text/norm + 2·title + 0.25·path + labels"},
		{"weight of title", fieldWeights[titleField], 2, "| weight of title, path, labels | 2, 0.25, 1 |"},
		{"weight of path", fieldWeights[pathField], .25, "| weight of title, path, labels | 2, 0.25, 1 |"},
		{"weight of labels", fieldWeights[labelsField], 1, "| weight of title, path, labels | 2, 0.25, 1 |"},
		{"defaultChunkSize", float64(document.ChunkSize(0)), 1600, "| chunk size | 1,600 bytes |"},
		{"rescoreDepth", rescoreDepth, 300, "The best 300 chunks are rescored"},
		{"weight of neighbours", defaultWeights.neighbours, .2, "| 0.2: what a turn is about"},
		{"weight of feedback", defaultWeights.feedback, .2, "the best of them with weight 0.2 · s"},
		{"weight of own words", defaultWeights.emphasis, 3, "the best of them with weight 3 · (1 − s)"},
		{"shortQuery", shortQuery, 8, "s = min(1, 8/L)"},
		{"maxQueryTerms", maxQueryTerms, 128, "the 128 are looked up that can add most"},
		{"weight of dates", defaultWeights.date, .4, "| `date` | 0.4 · the score so far"},
		{"weight of replies", defaultWeights.reply, .3, "| `reply` | 0.3 · the score of the question"},
		{"maxTurn", maxTurn, 40, "both of one passage of at most 40 terms"},
		{"feedbackTerms", feedbackTerms, 30, "The 30 most characteristic that the query lacks"},
		{"feedbackChunks", feedbackChunks, 7, "of the 7 best chunks"},
		{"feedbackExponent", feedbackExponent, 2, "(score/best score)²"},
		{"fusionConstant", fusionConstant, 60, "1/(60 + rank by words)"},
		{"weight of vectors by ranks", defaultFusionWeights[FusionRRF], .2, "0.3 for `score` and 0.2 for `rrf`"},
		{"weight of vectors by scores", defaultFusionWeights[FusionScore], .3, "0.3 for `score` and 0.2 for `rrf`"},
		{"defaultCandidateK", defaultCandidateK, 100, "(4 · top_k, but 100 to 1,000)"},
		{"maxCandidateK", maxCandidateK, 1000, "(4 · top_k, but 100 to 1,000)"},
		{"defaultRerankTopN", defaultRerankTopN, 50, "the first `rerank_top_n` (50)"},
		{"maxRerankTopN", maxRerankTopN, 200, ""},
		{"maxRerankScore", maxRerankScore, 1e300, "a number within ±1e300"},
		{"candidates of 1", candidates(t, 1), 100, ""},
		{"candidates of 26", candidates(t, 26), 104, ""},
		{"candidates of 300", candidates(t, 300), 1000, ""},
		{"maxDuplicates", maxDuplicates, 20, "names the first 20 others"},
		{"defaultTopK", defaultTopK, 10, ""},
		{"maxCount", maxCount, 255, ""},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, chosen was %v", c.name, c.got, c.want)
		}
		if !strings.Contains(oneLine(pages.String()), oneLine(c.documented)) {
			t.Errorf("neither docs/retrieval.md nor docs/dev/ranking.md documents %s: %q", c.name, c.documented)
		}
	}
}

// candidates returns the default of CandidateK.
func candidates(t *testing.T, topK int) float64 {
	t.Helper()
	q, err := Query{TopK: topK}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return float64(q.CandidateK)
}

// wide is an index in which more chunks are found than are rescored, the best of them have more
// words in common than feedback takes, and texts are long enough to be cut.
func wide() *Index {
	ix := New(nil)
	words := func(i, n int) string {
		var text strings.Builder
		for w := range n {
			fmt.Fprintf(&text, " word%dx", (i*7+w*(w+i))%80)
		}
		return text.String()
	}
	for i := range 360 {
		ix.Put(document.Document{Path: fmt.Sprintf("%03d/a.txt", i), Text: strings.Repeat("harbour ", 1+i%3) + words(i, 12+i%40)})
		ix.Put(document.Document{Path: fmt.Sprintf("%03d/b.txt", i), Text: words(i, 30)})
	}
	ix.Put(document.Document{Path: "labelled.txt", Tags: []string{"harbour"}, Text: words(3, 12)})
	ix.Put(document.Document{Path: "long.txt", Text: strings.Repeat("harbour"+words(5, 32)+"\n", 24)})
	return ix
}

// Like TestRankingGolden, for many chunks.
func TestWideRankingGolden(t *testing.T) {
	hits := wide().Search(Query{Text: "harbour", TopK: 400}).Hits
	var got []string
	var sum, fed float64
	looked, cut := 0, 0
	for i, h := range hits {
		sum, fed = sum+h.Score, fed+h.Components[componentFeedback]
		if len(h.Components) > 1 {
			looked++
		}
		if h.Path == "long.txt" {
			cut++
		}
		if i < 3 || h.Path == "labelled.txt" || i == 299 || i == 300 {
			got = append(got, fmt.Sprintf("%s %.6f = %.6f %.6f", h.ChunkID, h.Score, h.Components[componentBM25], h.Components[componentFeedback]))
		}
	}
	got = append(got, fmt.Sprintf("%d hits, %d with further evidence, %d of the long text: %.4f, %.4f of feedback", len(hits), looked, cut, sum, fed))
	want := []string{
		"188/a.txt#0 6.252235 = 1.116520 5.135715",
		"140/a.txt#0 6.122406 = 1.152604 4.969802",
		"028/a.txt#0 6.099966 = 0.945192 5.154774",
		"294/a.txt#0 0.941570 = 0.747095 0.194475",
		"258/a.txt#0 0.702921 = 0.702921 0.000000",
		"labelled.txt#0 0.686284 = 0.686284 0.000000",
		"365 hits, 300 with further evidence, 4 of the long text: 745.3052, 390.5282 of feedback",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("ranking differs (-want +got):\n%s", diff)
	}
}
