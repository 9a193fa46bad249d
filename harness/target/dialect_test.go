package target

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestRequestBodies checks the requests of each scenario in each dialect.
func TestRequestBodies(t *testing.T) {
	q := dataset.Question{ID: "a", Question: "who?", QuestionDate: "2025-03-14"}
	for _, c := range []struct {
		name     string
		scenario result.Scenario
		dialect  result.Dialect
		want     string
	}{
		{"ask auto", result.AskBasic, result.Auto,
			`{"question":"who?","query":"who?","top_k":7,"topK":7,"mode":"bm25",` +
				`"question_date":"2025-03-14","questionDate":"2025-03-14","reader_mode":"basic",` +
				`"readerMode":"basic"}`},
		{"ask snake", result.AskAugmented, result.Snake,
			`{"question":"who?","top_k":7,"mode":"bm25","question_date":"2025-03-14",` +
				`"reader_mode":"augmented","max_per_document":0}`},
		{"ask camel", result.AskAugmented, result.Camel,
			`{"question":"who?","topK":7,"mode":"bm25","questionDate":"2025-03-14",` +
				`"readerMode":"augmented","maxPerDocument":0}`},
		{"search auto", result.SearchOnly, result.Auto,
			`{"query":"who?","top_k":7,"topK":7,"mode":"bm25","question_date":"2025-03-14",` +
				`"questionDate":"2025-03-14","candidate_k":50,"candidateK":50,"rerank_top_n":9,` +
				`"rerankTopN":9}`},
		{"search snake", result.SearchOnly, result.Snake,
			`{"query":"who?","top_k":7,"mode":"bm25","question_date":"2025-03-14",` +
				`"candidate_k":50,"rerank_top_n":9}`},
		{"search camel", result.SearchOnly, result.Camel,
			`{"query":"who?","topK":7,"mode":"bm25","questionDate":"2025-03-14","candidateK":50,` +
				`"rerankTopN":9}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, got daemontest.Call) {
				if got.Path == "/v1/brains/b%2F%20x/ask" {
					daemontest.Stream(w, event("done", `{"ok":true}`))
					return
				}
				_, _ = w.Write([]byte(`{"chunks":[]}`))
			})
			target := &Target{
				Service: endpointOf(t, s, "secret"),
				Brains:  map[string]string{"": "b/ x"}, Scenario: c.scenario, Mode: "bm25",
				TopK: 7, CandidateK: 50, RerankTopN: 9, Dialect: c.dialect,
			}
			if c.scenario == result.AskAugmented {
				target.MaxPerDocument = new(0) // no limit is sent too
			}
			if _, err := target.once(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			got := s.Calls()[0]
			path, accept := "/v1/brains/b%2F%20x/ask", "text/event-stream"
			if c.scenario == result.SearchOnly {
				path, accept = "/v1/brains/b%2F%20x/search", "application/json"
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Body); diff != "" {
				t.Error(diff)
			}
			head := map[string]string{
				"path": got.Method + " " + got.Path, "accept": got.Header.Get("Accept"),
				"type":  got.Header.Get("Content-Type"),
				"agent": got.Header.Get("User-Agent"), "auth": got.Header.Get("Authorization"),
			}
			if diff := cmp.Diff(map[string]string{
				"path": "POST " + path, "accept": accept, "type": "application/json",
				"agent": "evalctl-test", "auth": "Bearer secret",
			}, head); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFusion reads what daemons report as their fusion, in a search and in an ask.
func TestFusion(t *testing.T) {
	for _, c := range []struct{ fusion, want string }{
		{`{"method":"score","weight":0.2}`, "score 0.2"},
		{`{"method":"rrf","weight":1,"k":60}`, "rrf 1"},
		{`{"method":"score","weight":0.00001}`, "score 1e-05"},
		{`{"method":"score","weight":0}`, "score 0"},
		{`{"method":"score","weight":-3e14}`, "score -3e+14"},
		{`{"method":"score","weight":-3e300}`, "score"},
		{`{"method":"score","weight":1e999}`, "score"},
		{`{"method":"score","weight":"NaN"}`, "score"},
		{`{"method":"score","weight":"0.2"}`, "score"},
		{`{"method":"score","weight":null}`, "score"},
		{`{"method":"score","weight":[0.2]}`, "score"},
		{`{"method":"score","weight":1,"weight":2}`, "score 2"},
		{`{"method":"score"}`, "score"},
		{`{"method":"a\u001b[31m\n|<b>","weight":1}`, "a\x1b[31m\n|<b> 1"},
		{`{"method":7,"weight":0.2}`, ""},
		{`{"method":"","weight":0.2}`, ""},
		{`{"weight":0.2}`, ""},
		{`{}`, ""},
		{`"score"`, ""},
		{`["score",0.2]`, ""},
		{`null`, ""},
	} {
		search := targetOf(t, writing(t, `{"chunks":[],"effective_mode":"hybrid","fusion":`+c.fusion+`}`))
		search.Scenario = result.SearchOnly
		asks := targetOf(t, streaming(t, event("retrieve", `{"chunks":[],"fusion":`+c.fusion+`}`)+
			event("retrieve", `{"chunks":[],"fusion":{"method":"second"}}`)+
			event("done", `{"answer":"a","fusion":{"method":"late"}}`)))
		for name, target := range map[string]*Target{"search": search, "ask": asks} {
			a, err := target.Ask(t.Context(), dataset.Question{Question: "q"}, questionTime)
			if err != nil || a.Fusion != c.want {
				t.Errorf("%s, %s: got %q and %v, want %q", name, c.fusion, a.Fusion, err, c.want)
			}
		}
	}
}

func TestUnsetParametersAreNotSent(t *testing.T) {
	s := writing(t, `{}`)
	target := targetOf(t, s)
	target.Scenario, target.Dialect = result.SearchOnly, result.Snake
	if _, err := target.once(t.Context(), dataset.Question{Question: "who?"}); err != nil {
		t.Fatal(err)
	}
	got := s.Calls()[0]
	if string(got.Raw) != `{"mode":"auto","query":"who?","top_k":5}` ||
		got.Header.Get("Authorization") != "" {
		t.Errorf("sent %s with Authorization %q", got.Raw, got.Header.Get("Authorization"))
	}
}

// TestSearchAnswers checks that the search results of different daemons are read alike.
func TestSearchAnswers(t *testing.T) {
	whole := []result.Chunk{
		{ChunkID: "c1", DocumentID: "d1", Path: "p.md", Title: "T", Score: 0.5, Text: "text one"},
	}
	for _, c := range []struct {
		name, body string
		want       []result.Chunk
		mode, text string
	}{
		{"specification",
			`{"query":"q","effective_mode":"bm25","chunks":[{"chunk_id":"c1","document_id":"d1",` +
				`"brain_id":"b","path":"p.md","title":"T","score":0.5,"text":"text one",` +
				`"metadata":{}}],"took_ms":1}`,
			whole, "bm25", "text one"},
		{"camelCase",
			`{"chunks":[{"chunkId":"c1","documentId":"d1","path":"p.md","score":0.5,` +
				`"text":"text one","title":"T","summary":"s","metadata":null,"bm25Rank":1}],` +
				`"tookMs":1,"trace":{"effectiveMode":"hybrid"}}`,
			whole, "hybrid", "text one"},
		{"mode in the trace", `{"chunks":[],"trace":{"mode":"semantic"}}`,
			[]result.Chunk{}, "semantic", ""},
		{"snake mode in the trace",
			`{"chunks":[],"trace":{"effective_mode":"hybrid","mode":"auto"}}`,
			[]result.Chunk{}, "hybrid", ""},
		{"trace is not an object", `{"chunks":[],"trace":"x"}`, []result.Chunk{}, "", ""},
		{"summary instead of text",
			`{"chunks":[{"text":"","summary":"from summary"},{"text":"second"}]}`,
			[]result.Chunk{{Text: "from summary"}, {Text: "second"}}, "", "from summary\nsecond"},
		{"sessions",
			`{"chunks":[{"path":"a.md","metadata":{"session_id":"s-1","source":"extract"}},` +
				`{"path":"b.md","sessionId":"s-2","metadata":{"session":"s-3"}},` +
				`{"path":"c.md","metadata":{"sessionId":"s-4"}},{"metadata":{"session_id":5}}]}`,
			[]result.Chunk{{Path: "a.md", SessionID: "s-1"}, {Path: "b.md", SessionID: "s-2"},
				{Path: "c.md", SessionID: "s-4"}, {}}, "", "\n\n\n"},
		{"null", `{"chunks":null}`, []result.Chunk{}, "", ""},
		{"empty object", `{}`, []result.Chunk{}, "", ""},
		{"hosted",
			`{"query":"q","brain_id":"b","hits":[{"score":2,"path":"p.md","content":"hit"}],` +
				`"took_ms":1}`,
			[]result.Chunk{{Path: "p.md", Score: 2, Text: "hit"}}, "", "hit"},
		{"dates",
			`{"chunks":[{"date":"2025-01-02","metadata":{"date":"x"}},` +
				`{"metadata":{"date":"2025-01-03T04:05:06Z"}},{"date":7,"metadata":{"date":[]}}]}`,
			[]result.Chunk{{Date: "2025-01-02"}, {Date: "2025-01-03T04:05:06Z"}, {}}, "", "\n\n"},
		{"duplicates",
			`{"chunks":[{"path":"p.md","duplicates":[{"chunk_id":"q.md#0","document_id":"d2",` +
				`"path":"q.md"},{"chunkId":"c3","documentId":"d3"}, {"document_id":"d4"},` +
				`{"chunk_id":"c5"}]}]}`,
			[]result.Chunk{{Path: "p.md", Duplicates: []string{"q.md", "d3", "d4", "c5"}}}, "", ""},
		{"duplicates as ids", `{"chunks":[{"path":"p.md","duplicates": [ "q.md#0" , "\u00e9" ]}]}`,
			[]result.Chunk{{Path: "p.md", Duplicates: []string{"q.md#0", "é"}}}, "", ""},
		{"odd duplicates",
			`{"chunks":[{"duplicates":[7,null,[],{},"",{"path":7},["x"]]},{"duplicates":"x"},` +
				`{"duplicates":{"path":"x"}},{"duplicates":[]},{"duplicates":null}]}`,
			[]result.Chunk{{}, {}, {}, {}, {}}, "", "\n\n\n\n"},
		{"odd chunk",
			`{"chunks":[{"chunk_id":7,"score":"high","text":["x"]},null,{"score":-0}]}`,
			[]result.Chunk{{}, {}, {}}, "", "\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := writing(t, c.body)
			target := targetOf(t, s)
			target.Scenario = result.SearchOnly
			a, err := target.Ask(t.Context(), dataset.Question{Question: "q"}, questionTime)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, a.Retrieved); diff != "" {
				t.Error(diff)
			}
			if a.EffectiveMode != c.mode || a.Answer != c.text || a.Latency <= 0 ||
				a.FirstDelta != 0 || a.Attempts != 1 {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestSearchRejects(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"not JSON", `<html>`, "did not answer with a JSON object"},
		{"array", `[]`, "did not answer with a JSON object"},
		{"chunks of another type", `{"chunks":"none"}`,
			`POST search: "chunks" is not a list of chunks`},
		{"chunks that are not objects", `{"chunks":["x"]}`,
			`POST search: "chunks" is not a list of chunks`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := writing(t, c.body)
			target := targetOf(t, s)
			target.Scenario = result.SearchOnly
			wantFailure(t, target, result.KindProtocol, c.want)
			if n := len(s.Calls()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
