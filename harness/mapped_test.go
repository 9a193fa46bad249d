package harness

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// TestByText checks to which documents passages belong whose service does not say it.
func TestByText(t *testing.T) {
	corpus := newCorpus(dataset.Dataset{}, []dataset.Brain{{Name: "b", Docs: []dataset.Doc{
		{Path: "ada.md", Data: []byte("# Ada\n\nAda moved to Lisbon in May. She likes tea.\n")},
		{Path: "bob.md", Data: []byte("Bob likes tea, and she likes tea too.")},
		{Path: "short.md", Data: []byte("Tea.")},
	}}}, true)
	q := dataset.Question{Brain: "b"}
	for _, c := range []struct {
		chunk result.Chunk
		gold  []string
		want  []string
	}{
		{result.Chunk{Text: "ada moved to LISBON in may"}, []string{"ada.md"}, []string{"ada.md"}},
		{result.Chunk{Text: "she likes tea"}, []string{"bob.md"}, []string{"bob.md"}},
		{result.Chunk{Text: "she likes tea"}, []string{"ada.md", "bob.md"}, []string{"ada.md", "bob.md"}},
		{result.Chunk{Text: "she likes tea"}, nil, []string{"ada.md"}},
		{result.Chunk{Text: "Note 1: Bob likes tea, and she likes tea too. Note 2: Tea."}, []string{"bob.md", "short.md"}, []string{"bob.md"}},
		{result.Chunk{Text: "tea", ChunkID: "7"}, []string{"ada.md"}, []string{"7"}},
		{result.Chunk{Text: "nothing of the corpus at all", ChunkID: "8"}, []string{"ada.md"}, []string{"8"}},
		{result.Chunk{Text: "Ada moved to Lisbon", Path: "bob.md"}, []string{"ada.md"}, []string{"bob.md"}},
		{result.Chunk{Text: "Ada moved to Lisbon", Path: "n-17"}, []string{"ada.md"}, []string{"ada.md"}},
	} {
		if got := corpus.Documents(q, c.chunk, result.Gold(c.gold, nil)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.chunk, got)
		}
	}
	if corpus.ByText() != 6 {
		t.Errorf("%d were found by their text", corpus.ByText())
	}
}

// TestNeed checks that what a mapping cannot do is refused.
func TestNeed(t *testing.T) {
	m := map[string]*mapping.Mapping{}
	for _, one := range mapping.Builtin() {
		m[one.Name] = one
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{(Need{Scenario: result.SearchOnly, Brains: 3, Mode: "auto"}).Check(m["server-memory"]), ""},
		{(Need{Scenario: result.AskBasic, Brains: 3}).Check(m["memory-tools"]), ""},
		{(Need{Scenario: result.AskBasic, Brains: 1}).Check(m["server-memory"]), "use --scenario search-retrieve-only"},
		{(Need{Scenario: result.SearchOnly, Brains: 1}).Check(m["memory-bank-mcp"]), "so it cannot be evaluated"},
		{(Need{Scenario: result.SearchOnly, Brains: 1, Mode: "bm25"}).Check(m["server-memory"]), "sends no {mode}"},
		{(Need{Scenario: result.SearchOnly, Brains: 1, Settings: map[string]target.Ability{"--candidate-k": target.CandidateK}}).Check(m["server-memory"]), "--candidate-k has no effect"},
	} {
		if c.want == "" != (c.err == nil) || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

// TestMappedWarnings checks that what was found out about a service is a warning.
func TestMappedWarnings(t *testing.T) {
	m := result.MappedService{Query: "question", Findings: []string{"3 of 10 documents that were written were never found by their own words"}}
	got := mappedWarnings(m, 7)
	if len(got) != 1 || got[0].Kind != memoryFinding || got[0].Count != 7 || got[0].Message != "about the memory: "+m.Findings[0] {
		t.Errorf("got %+v", got)
	}
}

// TestLateFindings: what is found out about a memory while questions are asked is a warning too.
func TestLateFindings(t *testing.T) {
	var m result.MappedService
	r := &runner{cfg: Config{Notes: Notes{Warnings: []result.Warning{{Kind: "first"}}}}, mapped: func() *result.MappedService { return &m }}
	m.Findings = []string{"late"}
	res := result.Result{Mapped: r.mapped(), Retrieval: &result.Retrieval{Warnings: []result.Warning{{Kind: "last"}}}}
	r.warn(&res)
	var kinds []string
	for _, w := range res.Retrieval.Warnings {
		kinds = append(kinds, w.Kind)
	}
	if want := []string{"first", memoryFinding, "last"}; !slices.Equal(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
}

// TestObservationsOfStoredAnswers: judging stored answers again, in several parts, observes nothing.
func TestObservationsOfStoredAnswers(t *testing.T) {
	was := &result.MappedService{Calls: map[string]int{"search": 3}}
	r := &runner{
		cfg: Config{Notes: Notes{Mapped: was}}, before: result.Observations{Mapped: was}, streak: streak{stored: true},
	}
	if got := r.observed().Mapped; got.Calls["search"] != 3 {
		t.Errorf("%d searches, of which 3 were made", got.Calls["search"])
	}
}

// TestHeldWhileBusy checks that the store of a running service counts as empty only once a
// search has found nothing in it.
func TestHeldWhileBusy(t *testing.T) {
	m, err := mapping.Parse("m.yaml", []byte(`name: x
transport: http
health: {method: GET, path: /health}
remember: {path: /notes, body: {t: '{text}'}}
search: {path: /find, body: {q: '{query}'}, reply: {items: '$[*]', text: $}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		statuses []int // of the first searches
		text     string
		refused  bool
	}{
		{[]int{503, 429}, "I keep bees.", true}, {[]int{503}, "", false}, {[]int{404}, "", false},
	} {
		searches := 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/find" {
				return
			}
			if searches++; searches <= len(c.statuses) {
				w.WriteHeader(c.statuses[searches-1])
				return
			}
			found := []string{}
			if c.text != "" {
				found = append(found, c.text)
			}
			_ = json.NewEncoder(w).Encode(found)
		}))
		defer web.Close()
		s, err := Open(t.Context(), SessionConfig{Endpoint: web.URL, Described: &Description{Mapping: m}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Held(t.Context(), "b", func(yield func(dataset.Question, error) bool) { yield(dataset.Question{Question: "q"}, nil) })
		if refused := err != nil && strings.Contains(err.Error(), "at least 1 text already"); refused != c.refused || err != nil && !refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
