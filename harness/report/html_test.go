package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// hostile is text that tries everything a page must not do.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)> </style></script>` +
	`<svg onload=alert(3)> javascript:alert(4) {{.}} ${x}` + "\u202egnp.exe \x00\x1b[31m\u2066\ufeff"

// shown is how a page shows it.
const shown = `"'><script>alert(1)</script><img src=x onerror=alert(2)> </style></script>` +
	`<svg onload=alert(3)> javascript:alert(4) {{.}} ${x}` + `[U+202E]gnp.exe [U+0000][U+001B][31m[U+2066][U+FEFF]`

// hostileContent has hostile text wherever a dataset, a daemon or a model can put some.
func hostileContent() content {
	c := contentOf(3)
	res := &c.Result
	c.Path = hostile
	res.SDK, res.ReaderModels = hostile, map[string]int{hostile: 3}
	res.Tags[hostile] = &result.TagFigures{Counts: result.Counts{Total: 1}}
	res.Gate.Sentence, res.Gate.Tags = hostile, []result.TagGate{{Tag: hostile}}
	res.Identity.Dataset.Path, res.Identity.Mode = hostile, hostile
	res.Identity.Daemon = result.DaemonID{Program: hostile, Version: hostile, CommandSHA256: hostile}
	res.Retrieval = &result.Retrieval{Ks: []int{5}, Warnings: []result.Warning{{Message: hostile, IDs: []string{hostile}}},
		ByTag: map[string]*result.TagMeans{hostile: {N: 1}}}
	q := &c.Questions[0]
	q.ID, q.Question, q.Answer, q.Reference, q.Reason = hostile, hostile, hostile, hostile, hostile
	q.Tags, q.Expected, q.ExpectedPaths = []string{hostile}, []string{hostile}, []string{hostile}
	q.Error = &result.Failure{Kind: hostile, Message: hostile}
	q.Failed = []result.Failure{*q.Error}
	q.Model, q.Brain, q.Type, q.QuestionDate, q.Cause = hostile, hostile, hostile, hostile, hostile
	q.Retrieved = []result.Chunk{{ChunkID: hostile, Path: hostile, Title: hostile, Text: hostile, Date: hostile}}
	q.Timeline = result.Timeline{{Event: hostile, AtMS: 1}}
	quoted, err := json.Marshal(hostile)
	if err != nil {
		panic(err)
	}
	q.Citations = []json.RawMessage{json.RawMessage(`{"chunk_id":` + string(quoted) + `,"answer_start":3,"answer_end":20,"quote":` + string(quoted) + `}`), json.RawMessage(hostile)}
	c.Trend = trendOf(&history.Line{Nights: []history.Night{nightOf("2026-09-20", 5, hostile)}}, "javascript:alert(5)")
	c.Links = []form.Link{{Text: hostile, URL: "javascript:alert(6)"}}
	return c
}

func TestHostileTextStaysText(t *testing.T) {
	text := write(t, hostileContent())
	nodes := parse(t, text)
	checkSafe(t, nodes)
	for _, r := range "\x00\x1b\u202e\u2066\ufeff\u2028" {
		if strings.ContainsRune(text, r) {
			t.Errorf("the page contains U+%04X", r)
		}
	}
	answers := 0
	for _, n := range nodes {
		if n.Data == "dd" && strings.TrimSpace(strings.ReplaceAll(textOf(n), "[1]", "")) == shown {
			answers++
		}
	}
	if answers < 4 { // question, reference, answer, reason
		t.Errorf("%d texts are shown as they are, want at least 4", answers)
	}
}

// checkSafe fails if a page has anything that is not the program's own.
func checkSafe(t *testing.T, nodes []*html.Node) {
	t.Helper()
	scripts := 0
	for _, n := range nodes {
		switch n.Data {
		case "script":
			if n.Type == html.ElementNode {
				scripts++
			}
		case "img", "iframe", "object", "embed", "link", "base":
			if n.Type == html.ElementNode {
				t.Errorf("element %s", n.Data)
			}
		}
		for _, a := range n.Attr {
			url := strings.ToLower(strings.TrimSpace(a.Val))
			ours := strings.HasPrefix(url, "#") || strings.HasPrefix(url, "data:application/octet-stream;base64,")
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src", a.Key == "action":
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			case a.Key == "href" && !ours:
				t.Errorf("link to %q", a.Val)
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%d scripts, want the page's own", scripts)
	}
}

func TestPolicyAllowsOnlyItsOwnStyleAndScript(t *testing.T) {
	nodes := parse(t, write(t, contentOf(1)))
	policy := ""
	for _, n := range nodes {
		if attr(n, "http-equiv") == "Content-Security-Policy" {
			policy = attr(n, "content")
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, n := range nodes {
		if n.Type == html.ElementNode && (n.Data == "style" || n.Data == "script") {
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if want := n.Data + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
				t.Errorf("the policy %q does not allow the %s: want %s", policy, n.Data, want)
			}
		}
	}
}

func TestCitedSpansAreMarked(t *testing.T) {
	c := contentOf(1)
	q := &c.Questions[0]
	q.Answer = "Zürich 🚢 and Porto."
	q.Citations = []json.RawMessage{
		json.RawMessage(`{"chunk_id":"c0","answer_start":0,"answer_end":8}`),
		json.RawMessage(`{"chunkId":"c1","answerStart":7,"answerEnd":18,"quote":"x"}`),
		json.RawMessage(`{"chunk_id":"c1","answer_start":5,"answer_end":99}`), // outside of the answer
		json.RawMessage(`[]`),
	}
	var marked []string
	for _, n := range parse(t, write(t, c)) {
		if n.Data == "mark" {
			marked = append(marked, textOf(n))
		}
	}
	if got := byClass(t, c, "plain"); !strings.Contains(got, "[1] passage 1") {
		t.Errorf("the place of a citation is not named: %q", got)
	}
	if want := []string{"Zürich [1]", "🚢[1, 2]", " and Porto[2]"}; !slices.Equal(marked, want) {
		t.Errorf("marked %q, want %q", marked, want)
	}
}

func TestCutTextsSayHowMuchIsMissing(t *testing.T) {
	c := contentOf(3)
	c.Questions[1].Answer, c.Questions[1].Citations = strings.Repeat("ä", 10_000), nil
	answer := textOf(byID(t, parse(t, write(t, c)), "q2"))
	shown := strings.Count(answer, "ä")
	if want := fmt.Sprintf("ä … %d more characters", 10_000-shown); shown == 0 || !strings.Contains(answer, want) {
		t.Errorf("%d characters are shown, and not %q: %q", shown, want, answer[len(answer)-900:])
	}
}

func TestGoldChunksAreMarked(t *testing.T) {
	var gold []string
	for _, n := range parse(t, write(t, contentOf(1))) {
		if n.Data == "li" && attr(n, "class") == "gold" {
			gold = append(gold, textOf(n))
		}
	}
	if len(gold) != 1 || !strings.HasPrefix(gold[0], "★ gold raw/documents/notes/b.md · Notes of the harbour") {
		t.Errorf("gold chunks %q", gold)
	}
}

// TestCountsOfOne: what is left out once is named in the singular.
func TestCountsOfOne(t *testing.T) {
	c := contentOf(2001)
	q := &c.Questions[0]
	for len(q.Retrieved) < 11 {
		q.Retrieved = append(q.Retrieved, result.Chunk{Path: "other.md", Text: "x"})
	}
	q.Citations = slices.Repeat([]json.RawMessage{json.RawMessage(`{"chunk_id":"c0"}`)}, 13)
	text := write(t, c)
	for _, want := range []string{"and 1 more citation<", "and 1 more passage<", "1 question is shown without details"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// byClass returns the text of the elements of a page that have a class.
func byClass(t *testing.T, c content, class string) string {
	t.Helper()
	var b strings.Builder
	for _, n := range parse(t, write(t, c)) {
		if attr(n, "class") == class {
			b.WriteString(textOf(n))
		}
	}
	return b.String()
}

// TestLargeRun checks what a page of very many questions leaves out.
func TestLargeRun(t *testing.T) {
	text := write(t, contentOf(2500))
	if !strings.Contains(text, "500 questions are shown without details") {
		t.Error("the page does not say which questions have no details")
	}
	if n := strings.Count(text, "<details>"); n != 2000 {
		t.Errorf("%d questions with details", n)
	}
	if n := strings.Count(text, "<li data-s="); n != 2500 {
		t.Errorf("%d lines of questions", n)
	}
}

// TestFilterOfOutcomes: each outcome can be filtered without the others.
func TestFilterOfOutcomes(t *testing.T) {
	c := contentOf(7)
	for i, outcome := range []result.Outcome{result.NoGold, result.NotMeasurable, result.Unjudged, result.Unscored} {
		c.Questions[i+1].Outcome, c.Questions[i+1].Passed = outcome, false
	}
	boxes, of := map[string]bool{}, map[string]bool{}
	for _, n := range parse(t, write(t, c)) {
		if attr(n, "name") == "status" {
			boxes[attr(n, "value")] = true
		}
		if s := attr(n, "data-s"); s != "" {
			of[s] = true
		}
	}
	if len(boxes) != 6 || !maps.Equal(boxes, of) {
		t.Errorf("boxes for %v, questions of %v", boxes, of)
	}
}

// TestSavedFilesCanBeRead reads the files in a page: the figures, and the verdicts as evalctl
// compare does. Questions without a verdict are not in them: they have not failed.
func TestSavedFilesCanBeRead(t *testing.T) {
	c := contentOf(9)
	for i, outcome := range []result.Outcome{result.NoGold, result.NotMeasurable, result.Unjudged, result.Unscored} {
		c.Questions[i+1].Outcome, c.Questions[i+1].Passed = outcome, false
	}
	saved := map[string]string{}
	for _, n := range parse(t, write(t, c)) {
		if file := attr(n, "download"); file != "" {
			saved[file] = filepath.Join(t.TempDir(), file)
			data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(attr(n, "href"), "data:application/octet-stream;base64,"))
			if err == nil {
				err = os.WriteFile(saved[file], data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	other := filetest.Write(t, filepath.Join(t.TempDir(), "other.jsonl"), `{"id":"q-000","passed":true}`)
	runs, err := compare.OpenAll([]string{saved["go.verdicts.jsonl"], other})
	if err != nil {
		t.Fatal(err)
	}
	both, err := compare.Compare(runs, compare.Options{Intersect: true, Accept: []string{"scorer", "reader"}, Baseline: other})
	if err != nil {
		t.Fatal(err)
	}
	// Only the first question, which failed, is in both.
	if saved := both.Runs[1]; saved.Asked != 5 || saved.Counts.Total != 1 || saved.Counts.Passed != 0 {
		t.Errorf("the saved verdicts are %d questions, and %+v of the compared one", saved.Asked, saved.Counts)
	}
	data := filetest.Read(t, saved["go.figures.json"])
	var figures result.Result
	if err := json.Unmarshal(data, &figures); err != nil || figures.Counts != c.Result.Counts {
		t.Errorf("the saved figures are %+v, %v", figures.Counts, err)
	}
}

func TestSelectionIsNamed(t *testing.T) {
	c := contentOf(12)
	c.Result.Identity.Dataset.Selection = &result.Selection{Tags: []string{"temporal"}, Total: 50}
	text := write(t, c)
	if n := strings.Count(text, "selection: 12 of 50 questions (tags temporal)"); n != 2 {
		t.Errorf("the selection is named %d times, want it in the head and in what ran", n)
	}
}

// maxSize is the largest size of a page with 500 questions, in bytes.
const maxSize = 2 << 20

func TestSizeOf500Questions(t *testing.T) {
	if n := len(write(t, contentOf(500))); n >= maxSize {
		t.Errorf("%d bytes", n)
	}
	long := contentOf(500)
	for i := range long.Questions {
		q := &long.Questions[i]
		q.Answer, q.Reference, q.Reason = words(5000), words(5000), words(5000)
		for k := range q.Retrieved {
			q.Retrieved[k].Text = words(5000)
		}
	}
	if n := len(write(t, long)); n >= maxSize {
		t.Errorf("%d bytes with long texts", n)
	}
}

func BenchmarkWrite500(b *testing.B) {
	c := contentOf(500)
	var size int
	for b.Loop() {
		size = len(write(b, c))
	}
	b.ReportMetric(float64(size), "page-bytes")
}
