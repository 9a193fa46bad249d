package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/goldentest"
	"evalctl/internal/llm"
)

const searchURL = "/v1/brains/eval/search"

// letters is an embedder that counts each letter of a text, or fails.
type letters struct{ err error }

func (letters) Name() string { return "letters" }

func (l letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 27)
		vectors[i][26] = 0.1 // every vector has a direction
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				vectors[i][r-'a']++
			}
		}
	}
	return vectors, l.err
}

// shortest is a reranker that prefers short texts, or fails.
type shortest struct{ err error }

func (shortest) Name() string { return "shortest" }

func (s shortest) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	for i, text := range texts {
		scores[i] = 1 / float64(1+len(text))
	}
	return scores, s.err
}

// startSearch starts a server with a few notes and the models of a search.
func startSearch(t *testing.T, cfg search.Config) *server {
	t.Helper()
	s := startConfig(t, brain.Config{IndexConfig: brain.IndexConfig{Search: cfg}}, fakeReader(), nil)
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	s.put(t, "a.md", "Ana lives in Oslo, where the fjord is.")
	s.put(t, "b2.md", "Ben lives in Rome.")
	s.put(t, "b1.md", "Ben lives in Rome.")
	return s
}

func searchFor(t *testing.T, s *server, body string) protocol.SearchResponse {
	t.Helper()
	got := decoded[protocol.SearchResponse](t, s.expect(t, 200, "POST", searchURL, body))
	return got
}

// TestSearchInEveryMode: a response matches its schema, and contains the mode that ran and the
// components of its scores. The modes that ran and their legs are recorded in testdata/modes.txt.
func TestSearchInEveryMode(t *testing.T) {
	d := readDocument(t)
	s := startSearch(t, search.Config{Embedder: letters{}, Reranker: shortest{}})
	var ran strings.Builder
	for _, asked := range append([]string{""}, protocol.Modes...) {
		body := `{"query":"lives in Rome","explain":true,"mode":"` + asked + `"}`
		answer := s.expect(t, 200, "POST", searchURL, body)
		d.check(t, schemaRef("SearchResponse"), answer)
		got := searchFor(t, s, body)
		if got.Mode != asked && (asked != "" || got.Mode != protocol.ModeAuto) || got.Degraded != "" {
			t.Errorf("%q: mode %s, degraded %q", asked, got.Mode, got.Degraded)
		}
		if got.EffectiveMode != got.Mode && got.Mode != protocol.ModeAuto {
			t.Errorf("%q: effective mode %s", asked, got.EffectiveMode)
		}
		if got.Collapsed != 1 || len(got.Chunks) != 2 || got.Chunks[0].Path != "b1.md" || !cmp.Equal(got.Chunks[0].Duplicates, []protocol.Duplicate{{ChunkID: "b2.md#0", DocumentID: "b2.md", Path: "b2.md"}}) {
			t.Errorf("%q: collapsed %d, chunks %+v", asked, got.Collapsed, got.Chunks)
		}
		fmt.Fprintf(&ran, "%q ran %s:", asked, got.EffectiveMode)
		for _, leg := range got.Explanation.Legs {
			fmt.Fprintf(&ran, " %s", leg.Name)
			if len(leg.Candidates) < 2 {
				t.Errorf("%q: leg %+v", asked, leg)
			}
			if _, ok := got.Chunks[0].ComponentScores[leg.Name]; !ok {
				t.Errorf("%q: no component %s in %v", asked, leg.Name, got.Chunks[0].ComponentScores)
			}
		}
		ran.WriteString("\n")
		if len(got.Explanation.Terms) == 0 {
			t.Errorf("%q: explanation %+v", asked, got.Explanation)
		}
	}
	goldentest.Compare(t, "testdata/modes.txt", ran.String())
}

// TestModesThatCannotRun: a mode that is not configured is a mistake of the caller, a failure is
// one of the model. Neither reveals a secret, and no other mode runs instead.
func TestModesThatCannotRun(t *testing.T) {
	secret := errors.New("dial tcp: Bearer sk-secret was refused")
	refused := &llm.Error{Provider: "openai", URL: "http://embed.test/v1", Status: 503, Message: "overloaded"}
	limited := &llm.Error{Provider: "openai", Status: 429, Message: "slow down"}
	for _, tt := range []struct {
		name, mode string
		cfg        search.Config
		status     int
		code, text string
	}{
		{"no embedder", "semantic", search.Config{}, 400, protocol.CodeValidation, "mode: semantic needs an embedder and the daemon has none: set SVC_EMBED_PROVIDER"},
		{"no embedder to rerank", "hybrid-rerank", search.Config{}, 400, protocol.CodeValidation, "SVC_EMBED_PROVIDER"},
		{"no reranker", "hybrid-rerank", search.Config{Embedder: letters{}}, 400, protocol.CodeValidation, "mode: hybrid-rerank needs a reranker and the daemon has none: set SVC_RERANK_PROVIDER"},
		{"no embedder, degrading", "hybrid", search.Config{Degrade: true}, 400, protocol.CodeValidation, "SVC_EMBED_PROVIDER"},
		{"failing embedder", "hybrid", search.Config{Embedder: letters{secret}}, 502, protocol.CodeBadGateway, "the daemon's log has the reason under request"},
		{"refusing embedder", "auto", search.Config{Embedder: letters{refused}}, 502, protocol.CodeBadGateway, "openai http://embed.test/v1: 503"},
		{"busy embedder", "semantic", search.Config{Embedder: letters{limited}}, 429, protocol.CodeRateLimited, "slow down"},
		{"failing reranker", "hybrid-rerank", search.Config{Embedder: letters{}, Reranker: shortest{secret}}, 502, protocol.CodeBadGateway, "the daemon's log has the reason under request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startSearch(t, tt.cfg)
			for target, body := range map[string]string{searchURL: `{"query":"Rome","mode":"` + tt.mode + `"}`, "/v1/brains/eval/ask": `{"question":"Rome","mode":"` + tt.mode + `"}`} {
				answer := s.expect(t, tt.status, "POST", target, body)
				wantProblem(t, answer, tt.code, tt.text)
				if strings.Contains(answer, "secret") {
					t.Errorf("it has a secret: %s", answer)
				}
			}
		})
	}
}

// TestDegraded: with Degrade a lower mode runs, and the responses of search and ask contain it.
func TestDegraded(t *testing.T) {
	refused := &llm.Error{Provider: "openai", Status: 503, Message: "overloaded"}
	s := startSearch(t, search.Config{Embedder: letters{refused}, Degrade: true})
	got := searchFor(t, s, `{"query":"Rome","mode":"hybrid"}`)
	if got.Mode != "hybrid" || got.EffectiveMode != "bm25" || !strings.Contains(got.Degraded, "overloaded") || len(got.Chunks) == 0 {
		t.Errorf("got %+v", got)
	}
	stream := s.expect(t, 200, "POST", "/v1/brains/eval/ask", `{"question":"Who lives in Rome?","mode":"hybrid"}`)
	if !strings.Contains(stream, `"mode":"hybrid","effective_mode":"bm25","degraded":"`) {
		t.Errorf("got %s", stream)
	}
	if n := scrape(t, s)[`evalctl_searches_total{degraded="true",mode="bm25"}`]; n != "2" {
		t.Errorf("%s degraded searches are counted, want 2", n)
	}
}

// TestTextIsNeverMarkup: text is returned as in the document, even if it looks like markup.
func TestTextIsNeverMarkup(t *testing.T) {
	s := startFake(t)
	const text = "🦜 é <em>kettle</em> & <script>alert(\"kettle\")</script> &amp; \u2028 </body>"
	s.put(t, "a.md", text)
	answer := s.expect(t, 200, "POST", searchURL, `{"query":"kettle"}`)
	if !strings.Contains(answer, `🦜 é <em>kettle</em> & <script>alert(\"kettle\")</script> &amp; \u2028 </body>`) {
		t.Errorf("got %s", answer)
	}
	got := searchFor(t, s, `{"query":"kettle"}`).Chunks[0]
	if got.Text != text || len(got.Highlights) != 2 {
		t.Fatalf("got %+v", got)
	}
	for _, h := range got.Highlights {
		if word := string([]rune(got.Text)[h.Start:h.End]); word != "kettle" {
			t.Errorf("%+v is %q", h, word)
		}
	}
}

// TestSearchByQueryIsSearch: a GET with the same arguments returns the same response.
func TestSearchByQueryIsSearch(t *testing.T) {
	s := startFake(t)
	s.put(t, "a,b.md", "---\ndate: 2024-03-02\ntags: [x, y]\nsession_id: s1\n---\nkettle")
	s.put(t, "b.md", "---\ndate: 2024-03-03\ntags: [x]\nsession_id: s2\n---\nthe kettle")
	s.put(t, "memory/global/_c.md", "---\ndate: 2024-03-04\n---\na generated kettle")
	for query, body := range map[string]string{
		"q=kettle":                                         `{"query":"kettle"}`,
		"query=kettle&sort=recency&top_k=1":                `{"query":"kettle","sort":"recency","top_k":1}`,
		"q=kettle&tags=x,y&explain=true":                   `{"query":"kettle","filters":{"tags":["x","y"]},"explain":true}`,
		"q=kettle&sessionIds=s2,s3":                        `{"query":"kettle","filters":{"session_ids":["s2","s3"]}}`,
		"q=kettle&date_from=2024-03-03":                    `{"query":"kettle","filters":{"date_from":"2024-03-03"}}`,
		"q=kettle&date_to=2024-03-02":                      `{"query":"kettle","filters":{"date_to":"2024-03-02"}}`,
		"q=kettle&path_prefix=b":                           `{"query":"kettle","filters":{"path_prefix":"b"}}`,
		"q=kettle&path_prefix=b&paths=b.md,c":              `{"query":"kettle","filters":{"path_prefix":"b","paths":["b.md","c"]}}`,
		"q=kettle&include_generated=true":                  `{"query":"kettle","filters":{"include_generated":true}}`,
		"q=kettle&question_date=2024-03-02":                `{"query":"kettle","question_date":"2024-03-02"}`,
		"q=kettle&date_from=2024-03-03&max_per_document=1": `{"query":"kettle","filters":{"date_from":"2024-03-03"},"max_per_document":1}`,
		"q=kettle&scope=global&candidate_k=500":            `{"query":"kettle","scope":"global","candidate_k":500}`,
	} {
		posted, got := s.expect(t, 200, "POST", searchURL, body), s.expect(t, 200, "GET", searchURL+"?"+query, "")
		if diff := cmp.Diff(posted, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if all := s.expect(t, 200, "GET", searchURL+"?q=kettle", ""); got == all && query != "q=kettle" {
			t.Errorf("%s has no effect", query)
		}
	}
}

// TestTopKLeftOut: a missing key, null and an empty parameter mean the default. For the other
// numbers, 0 does too.
func TestTopKLeftOut(t *testing.T) {
	s := startFake(t)
	for i := range protocol.DefaultTopK + 1 {
		s.put(t, fmt.Sprintf("%d.md", i), fmt.Sprintf("kettle %d", i))
	}
	for _, body := range []string{`{"query":"kettle"}`, `{"query":"kettle","top_k":null}`, `{"query":"kettle","candidate_k":0,"rerankTopN":0}`} {
		if got := searchFor(t, s, body); len(got.Chunks) != protocol.DefaultTopK {
			t.Errorf("%s: %d chunks", body, len(got.Chunks))
		}
	}
	for _, query := range []string{"", "&top_k=", "&candidate_k=0&rerank_top_n=0"} {
		if got := decoded[protocol.SearchResponse](t, s.expect(t, 200, "GET", searchURL+"?q=kettle"+query, "")); len(got.Chunks) != protocol.DefaultTopK {
			t.Errorf("%q: %d chunks", query, len(got.Chunks))
		}
	}
}

// TestSchemaOfSearchIsItsParser: the schema and the daemon accept and reject the same requests.
func TestSchemaOfSearchIsItsParser(t *testing.T) {
	d := readDocument(t)
	s := startFake(t)
	for body, status := range map[string]int{
		`{"query":"x"}`: 200,
		`{"query":"x","scope":"agent","sort":"recency","top_k":100,"candidate_k":1000,"rerank_top_n":200,"explain":true,"mode":"bm25"}`: 200,
		`{"query":"x","colour":"red"}`:                             200,
		`{"query":"x","filters":{}}`:                               200,
		`{"query":"x","filters":{"sessionIds":["a"],"dateTo":""}}`: 200,
		`{"query":""}`:                                                               400,
		`{"query":"x","scope":"mine"}`:                                               400,
		`{"query":"x","sort":"newest"}`:                                              400,
		`{"query":"x","mode":"psychic"}`:                                             400,
		`{"query":"x","top_k":101}`:                                                  400,
		`{"query":"x","top_k":-1}`:                                                   400,
		`{"query":"x","top_k":0}`:                                                    400,
		`{"query":"x","candidate_k":1001}`:                                           400,
		`{"query":"x","candidate_k":-1}`:                                             400,
		`{"query":"x","rerank_top_n":201}`:                                           400,
		`{"query":"x","max_per_document":0}`:                                         200,
		`{"query":"x","max_per_document":101}`:                                       400,
		`{"query":"x","explain":"yes"}`:                                              400,
		`{"query":"x","filters":[]}`:                                                 400,
		`{"query":"x","filters":{"colour":"red"}}`:                                   400,
		`{"query":"x","filters":{"tags":[]}}`:                                        400,
		`{"query":"x","filters":{"tags":[""]}}`:                                      400,
		`{"query":"x","filters":{"tags":"a"}}`:                                       400,
		`{"query":"x","filters":{"paths":[5]}}`:                                      400,
		`{"query":"x","filters":{"session_ids":{"a":1}}}`:                            400,
		`{"query":"x","filters":{"include_generated":"true"}}`:                       400,
		`{"query":"x","filters":{"date_from":5}}`:                                    400,
		`{"query":"x","question_date":20240101}`:                                     400,
		`{"query":"x","filters":{"paths":["` + strings.Repeat(`a","`, 256) + `b"]}}`: 400,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		err = d.validate(schemaRef("SearchRequest"), value)
		if (err == nil) != (status == 200) {
			t.Errorf("%.200s: the schema says %v", body, err)
		}
		s.expect(t, status, "POST", searchURL, body)
		if _, top := value.(map[string]any)["sort"]; !top && !strings.Contains(body, "_k") && !strings.Contains(body, "top_n") && !strings.Contains(body, "explain") {
			s.expect(t, status, "POST", "/v1/brains/eval/ask", strings.Replace(body, `"query"`, `"question"`, 1))
		}
	}
}

// TestSearchOperators: operators are read in the body and in the URL, the answer has them, and a
// query that only excludes is rejected with what to do.
func TestSearchOperators(t *testing.T) {
	s := startSearch(t, search.Config{})
	posted := s.expect(t, 200, "POST", searchURL, `{"query":"\"lives in Rome\""}`)
	if !strings.Contains(posted, `"operators":["\"lives in Rome\""]`) || strings.Contains(posted, "a.md") {
		t.Errorf("got %s", posted)
	}
	readDocument(t).check(t, schemaRef("SearchResponse"), posted)
	if got := s.expect(t, 200, "GET", searchURL+"?q="+url.QueryEscape(`"lives in Rome"`), ""); got != posted {
		t.Errorf("in the URL: got %s, in the body %s", got, posted)
	}
	for _, query := range []string{"-Rome", `-\"in Rome\" -Ben*`} {
		answer := s.expect(t, 400, "POST", searchURL, `{"query":"`+query+`"}`)
		if !strings.Contains(answer, "add what they should contain") {
			t.Errorf("%s is answered with %s", query, answer)
		}
	}
}
