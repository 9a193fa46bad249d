package actor

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/replay/source"
)

// writeBenchmark writes a benchmark with one question about sessions of these sizes in bytes, which
// are not in order of their date: the last one is the oldest. The second is gold.
func writeBenchmark(tb testing.TB, sizes ...int) string {
	tb.Helper()
	type object = map[string]any
	var ids, dates []string
	var sessions [][]object
	for i, size := range sizes {
		id := string(rune('a' + i))
		ids = append(ids, id)
		dates = append(dates, []string{"2023/05/23 (Tue) 10:00", "2023/05/22 (Mon) 10:00", "2023/05/21 (Sun) 10:00"}[i])
		sessions = append(sessions, []object{{"role": "user", "content": strings.Repeat(id, size)}})
	}
	text, err := json.Marshal([]object{{
		"question_id": "q1", "question_type": "multi-session", "question": "What do I like?",
		"question_date": "2023/05/30 (Tue) 23:40", "answer": "tea", "answer_session_ids": []string{"b"},
		"haystack_session_ids": ids, "haystack_dates": dates, "haystack_sessions": sessions,
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return filetest.Write(tb, filepath.Join(tb.TempDir(), "benchmark.json"), text)
}

func TestBaselines(t *testing.T) {
	const large = 200_000
	for _, c := range []struct {
		style Style
		sizes []int
		notes string // number, first byte of the text and date
		left  int
	}{
		{NoMemory, []int{3, 3, 3}, "", 0},
		{Oracle, []int{3, 3, 3}, "1 b 2023-05-22", 0},
		{FullContext, []int{3, 3, 3}, "1 c 2023-05-21, 2 b 2023-05-22, 3 a 2023-05-23", 0},
		{FullContext, []int{large, large, large}, "1 b 2023-05-22, 2 a 2023-05-23", 1},
		{FullContext, []int{3, 5 * DefaultContextTokens, 3}, "1 a 2023-05-23", 2}, // only the last ones
	} {
		srv := llmtest.NewServer(t, llmtest.Script(llmtest.Reply{Text: "x"}))
		b := open(t, writeBenchmark(t, c.sizes...))
		a := newActor(t, Config{
			Style: c.style, Reader: metered(t, srv.URL, "m", llm.Dollar), Model: "m", Benchmark: b, QuestionDate: true,
		})
		ans, err := a.Ask(t.Context(), b.Questions[0].Dataset(), questionTime)
		if err != nil {
			t.Fatal(err)
		}
		var sent message
		if err := json.Unmarshal([]byte(srv.Calls()[0].Messages[1].Content), &sent); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range sent.Notes {
			_, text, _ := strings.Cut(n.Text, "user: ")
			got = append(got, strings.Split(numbered([]note{n})[0], " ")[0]+" "+text[:1]+" "+n.Date[:10])
		}
		if strings.Join(got, ", ") != c.notes || ans.Actor.LeftOut != c.left {
			t.Errorf("%s: sent %q and left out %d", c.style, got, ans.Actor.LeftOut)
		}
		if len(ans.Actor.Seen) != len(got) {
			t.Errorf("%s: sent %q, and says %q", c.style, got, ans.Actor.Seen)
		}
		use, err := a.Context(b.Questions[:1], map[string]source.HaystackInfo{b.Questions[0].Haystack: b.Infos()[0]})
		if err != nil || (use != nil) != (c.style == FullContext) || use != nil && (use.LeftOut != c.left || use.Sessions != 3) {
			t.Errorf("%s: the forecast is %+v, %v", c.style, use, err)
		}
		if ans.Retrieved != nil || ans.DeepRank != nil || ans.Attempts != 1 || sent.Notes == nil ||
			ans.Latency < ans.FirstDelta || ans.FirstDelta <= 0 || a.Health(t.Context()) != nil {
			t.Errorf("%s: got %+v", c.style, ans)
		}
	}
}

// TestBaselineOfCorpus checks that the documents of a file in JSONL are read as they are.
func TestBaselineOfCorpus(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		filetest.Write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	path := write("x.jsonl", `{"id":"1","question":"Who?","reference_answer":"Ana","expected_paths":["raw/documents/b.md"]}`+"\n")
	alone, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	_, err = New(Config{Style: Oracle, Reader: llm.NewFake(), Benchmark: alone})
	if err == nil || !strings.Contains(err.Error(), "give the corpus") {
		t.Errorf("got %v", err)
	}
	write("x.corpus.jsonl", `{"path":"a.md","title":"A","text":"Bo."}`+"\n"+`{"path":"b.md","title":"B","text":"Ana."}`+"\n")
	b := open(t, path)
	for style, want := range map[Style]string{Oracle: "Ana.", FullContext: "Bo. Ana."} {
		a := newActor(t, Config{Style: style, Reader: llm.NewFake(), Benchmark: b})
		notes, err := a.sessionNotes(b.Questions[0].Dataset())
		var got []string
		for _, n := range notes {
			lines := strings.Fields(n.Text)
			got = append(got, lines[len(lines)-1])
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, %v", style, got, err)
		}
	}
}

func TestNewRejects(t *testing.T) {
	daemon := targetOf(t, "http://127.0.0.1:1", nil)
	for want, c := range map[string]Config{
		`unknown style "x"`:              {Style: "x"},
		"style full needs a daemon":      {Style: Full, TopK: 1},
		"top-k is 0":                     {Style: RetrieveOnly, Target: daemon},
		"from 1 to 50 chunks":            {Style: Full, Target: daemon, TopK: 51},
		"from 1 to 100 chunks":           {Style: RetrieveOnly, Target: daemon, TopK: 101},
		"needs a model that answers":     {Style: NoMemory},
		"oracle needs a benchmark":       {Style: Oracle, Reader: llm.NewFake()},
		"has the daemon's own reader":    {Style: Full, Target: daemon, TopK: 1, Reader: llm.NewFake()},
		"full-context needs a benchmark": {Style: FullContext, Reader: llm.NewFake()},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	daemon := targetOf(t, "http://127.0.0.1:1", nil)
	a := newActor(t, Config{Style: RetrieveOnly, Target: daemon, TopK: 1, Reader: llm.NewFake(),
		BaseURL: "http://h/v1", Model: "m", QuestionDate: true})
	want := result.Actor{
		Style: "retrieve-only", Provider: "fake", BaseURL: "http://h/v1", Model: "m",
		Prompt: promptVersion, PromptSHA256: promptSHA256(), QuestionDate: true,
	}
	if got := a.Identity(); got != want {
		t.Errorf("got %+v", got)
	}
	if got := newActor(t, Config{Style: Full, Target: daemon, TopK: 1}).Identity(); got != (result.Actor{Style: "full"}) {
		t.Errorf("got %+v", got)
	}
	if !slices.ContainsFunc(Baselines, Style.Baseline) || Full.Baseline() || RetrieveOnly.Baseline() {
		t.Error("baselines are wrong")
	}
}

// TestPromptVersion fails if the prompt changes: then change promptVersion too.
func TestPromptVersion(t *testing.T) {
	known := map[string]string{
		"reader-1": "4b82de1538eec6dedacd8bdb7f20d82e9f2dbf79c1e954635556e2d21071e734",
	}
	if got := promptSHA256(); known[promptVersion] != got {
		t.Errorf("the digest of %s is %s", promptVersion, got)
	}
}
