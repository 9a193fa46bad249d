package imports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
	"evalctl/replay/source"
	"evalctl/scorer"
)

const plainMapping = "id: $.id\nquestion: $.q\ngold: $.gold\nanswer: $.said\nverdict: $.ok\nconversation: $.talk\nmodel: $.by\n"

// plain imports rows of a layout that has all fields of plainMapping, one list a file.
func plain(t *testing.T, files ...string) (*Import, error) {
	t.Helper()
	s := Spec{Mapping: file(t, "m.yaml", plainMapping)}
	for _, rows := range files {
		s.Files = append(s.Files, file(t, "a.json", rows))
	}
	return Read(s)
}

// entry is an answer in the layout of plainMapping. ok is JSON.
func entry(id, question, said, ok string) string {
	return fmt.Sprintf(`{"id": %q, "q": %q, "gold": "g", "said": %q, "ok": %s, "talk": "", "by": "m"}`, id, question, said, ok)
}

// TestCounts counts every answer of files once. The same number of answers to each question are
// its repeats; of other numbers, only the first counts, as with a dataset. Ids of other
// questions are numbered. Answers without a verdict do not count.
func TestCounts(t *testing.T) {
	list := func(rows ...string) string { return "[" + strings.Join(rows, ",") + "]" }
	for name, c := range map[string]struct {
		files                   []string
		passed, total, unjudged int
		repeats                 int
		ids                     []string
		unmatched               int
	}{
		"two files": {[]string{list(entry("", "A?", "a", "1"), entry("", "B?", "b", "1")), list(entry("", "C?", "c", "0"), entry("", "D?", "d", "0"))},
			2, 4, 0, 0, []string{"q000", "q001", "q002", "q003"}, 0},
		"ids that begin again": {[]string{list(entry("1", "A?", "a", "1")), list(entry("1", "C?", "c", "0"))}, 1, 2, 0, 0, []string{"1", "1-2"}, 0},
		"without a verdict":    {[]string{list(entry("1", "A?", "a", "1"), entry("2", "B?", "b", "null"))}, 1, 1, 1, 0, []string{"1", "2"}, 0},
		"no verdicts":          {[]string{list(entry("1", "A?", "a", "null"), entry("2", "B?", "b", `""`))}, 0, 0, 2, 0, []string{"1", "2"}, 0},
		"epochs": {[]string{list(entry("1", "A?", "a", "1"), entry("1", "A?", "b", "0"), entry("2", "B?", "c", "1"), entry("2", "B?", "d", "1"))},
			3, 4, 0, 2, []string{"1", "1", "2", "2"}, 0},
		"repeated": {[]string{list(entry("1", "A?", "a", "1"), entry("1", "A?", "b", "0"), entry("2", "B?", "c", "1"))},
			2, 2, 0, 0, []string{"1", "2"}, 1},
		"repeated without an id": {[]string{list(entry("", "A?", "a", "1"), entry("", "A?", "b", "0"), entry("", "B?", "c", "1"))},
			2, 3, 0, 0, []string{"q000", "q001", "q002"}, 0},
		"other texts": {[]string{list(entry("1", "A?", "a", "1"), entry("1", "B?", "b", "0"))}, 1, 2, 0, 0, []string{"1", "1-2"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			im, err := plain(t, c.files...)
			if err != nil {
				t.Fatal(err)
			}
			res := writes(t, im)
			if n := res.Counts; n.Passed != c.passed || n.Total != c.total || n.Unjudged != c.unjudged || n.Unscored != 0 {
				t.Errorf("counts %+v", n)
			}
			var ids []string
			for _, r := range im.Records {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff(c.ids, ids); diff != "" || res.Identity.Dataset.Repeats != c.repeats {
				t.Errorf("%s repeats %d", diff, res.Identity.Dataset.Repeats)
			}
			if len(im.Report.Unmatched) != c.unmatched {
				t.Errorf("unmatched %+v", im.Report.Unmatched)
			}
			if c.total == 0 && (res.PassRate != nil || res.Gate.Verdict != result.Invalid) {
				t.Errorf("rate %v, verdict %s", res.PassRate, res.Gate.Verdict)
			}
		})
	}
	other := strings.Replace(entry("1", "A?", "b", "0"), `"m"`, `"n"`, 1)
	if _, err := plain(t, list(entry("1", "A?", "a", "1"), other)); err == nil || !strings.Contains(err.Error(), `of different models, "m" and "n"`) {
		t.Errorf("two systems: %v", err)
	}
	misspelled := strings.ReplaceAll(list(entry("1", "A?", "a", "1")), `"said"`, `"sayd"`)
	if _, err := plain(t, misspelled); err == nil || !strings.Contains(err.Error(), "answer: the path $.said selects nothing") ||
		!strings.Contains(err.Error(), `"sayd"`) {
		t.Errorf("a path that selects nothing: %v", err)
	}
}

// TestVotes takes the rule by which the totals of a file follow from its votes.
func TestVotes(t *testing.T) {
	votes := `{"accuracy": %s, "correct": %s, "runs": {"c": [
		{"question": "Q1?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": true, "3": false}},
		{"question": "Q2?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": true, "3": false}},
		{"question": "Q3?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": false, "3": false}}]}}`
	for _, c := range []struct {
		accuracy, correct string
		rule              result.VoteRule
		rate              float64
		agree             []bool
	}{
		{"0.6667", "2", result.VotesMajority, 2.0 / 3, []bool{true, true}},
		{"0.556", "null", result.VotesMean, 5.0 / 9, []bool{true}},
		{"55.56", "null", result.VotesMean, 5.0 / 9, []bool{true}},
		{"1.0", "3", result.VotesFirst, 1, []bool{true, true}},
		{"0.9", "1", result.VotesMean, 5.0 / 9, []bool{false, false}},
		{"null", "null", result.VotesMean, 5.0 / 9, nil},
	} {
		im := read(t, Spec{Files: []string{file(t, "v.json", fmt.Sprintf(votes, c.accuracy, c.correct))}})
		res := writes(t, im)
		v := res.Votes
		if v == nil || v.Rule != c.rule || fmt.Sprintf("%.6f", v.Rate) != fmt.Sprintf("%.6f", c.rate) || v.Split != 3 ||
			fmt.Sprintf("%.3f", v.Rates) != "[1.000 0.667 0.000]" {
			t.Errorf("accuracy %s: %+v, want %s %v", c.accuracy, v, c.rule, c.rate)
		}
		var agree []bool
		for _, s := range im.Report.Stated {
			agree = append(agree, s.Agrees)
		}
		if diff := cmp.Diff(c.agree, agree); diff != "" {
			t.Errorf("accuracy %s: %s%+v", c.accuracy, diff, im.Report.Stated)
		}
		if len(im.Records[0].Votes) != 3 {
			t.Errorf("the votes are lost: %+v", im.Records[0])
		}
	}
}

// TestRoundTotals: a total of 0 or 1 does not follow from answers of which some failed and some
// passed, and chooses no rule by which they would.
func TestRoundTotals(t *testing.T) {
	answers := `{"accuracy": %s, "results": [
		{"question": "Q1?", "answer": "g", "response": "a", "llm_score": 1}, {"question": "Q2?", "answer": "g", "response": "a", "llm_score": %d},
		{"question": "Q3?", "answer": "g", "response": "a", "llm_score": 0}]}`
	for _, c := range []struct {
		accuracy string
		second   int
		agrees   bool
	}{{"1.0", 1, false}, {"0", 0, false}, {"0.7", 1, false}, {"0.67", 1, true}, {"67", 1, true}, {"33.3", 0, true}} {
		im := read(t, Spec{Files: []string{file(t, "a.json", fmt.Sprintf(answers, c.accuracy, c.second))}})
		if s := im.Report.Stated; len(s) != 1 || s[0].Agrees != c.agrees {
			t.Errorf("%+v: %+v", c, s)
		}
	}
	votes := `{"accuracy": 1.0, "results": [
		{"question": "Q1?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": true, "3": true}},
		{"question": "Q2?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": false, "3": false}}]}`
	if im := read(t, Spec{Files: []string{file(t, "v.json", votes)}}); im.ID.VoteRule != result.VotesFirst {
		t.Errorf("the rule is the %s", im.ID.VoteRule)
	}
}

// TestErrata counts verdicts with and without the questions that errata concern.
func TestErrata(t *testing.T) {
	errata := file(t, "errata.jsonl", `{"id": "mara-jon-q005", "action": "correct", "answer": "wheat bread", "reason": "r"}
{"id": "mara-jon-q001", "action": "exclude", "reason": "r"}
{"id": "lena-tariq-q003", "action": "correct", "answer": "Kim", "reason": "r"}
`)
	b, err := source.Open(t.Context(), own+"talks.json", source.Options{Errata: errata})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	im := read(t, Spec{Files: []string{own + "answers.json"}, Dataset: b})
	writes(t, im)
	e := im.Report.Errata
	if e == nil || fmt.Sprint(e.OldKey, e.Unknown, e.Excluded) != "[lena-tariq-q003 mara-jon-q005] [] [mara-jon-q001]" &&
		fmt.Sprint(e.OldKey, e.Unknown, e.Excluded) != "[mara-jon-q005 lena-tariq-q003] [] [mara-jon-q001]" {
		t.Fatalf("%+v", e)
	}
	if e.All.Total != 28 || e.Without.Total != 25 || e.All.Passed != 23 {
		t.Errorf("%+v, without %+v", e.All, e.Without)
	}
}

// TestRenamed finds types that the files call like another type: by the number that stands beside
// the name, and by the dataset.
func TestRenamed(t *testing.T) {
	rows := []string{}
	for i, c := range []struct {
		name   string
		number int
	}{{"single_hop", 1}, {"single_hop", 1}, {"open_domain", 4}, {"multi_hop", 3}, {"temporal_reasoning", 2}} {
		rows = append(rows, fmt.Sprintf(`{"conversation_id": "c", "question_type": %q, "category": %d, "question": "Q%d?",
			"expected_answer": "g", "ai_response": "a", "evaluation": {"is_correct": true}}`, c.name, c.number, i))
	}
	im := read(t, Spec{Files: []string{file(t, "r.json", `{"by_type": {"x": {"responses": [`+strings.Join(rows, ",")+`]}}}`)}})
	want := []result.TypeRename{{InFile: "multi_hop", Benchmark: "open-domain", Answers: 1}, {InFile: "open_domain", Benchmark: "single-hop", Answers: 1},
		{InFile: "single_hop", Benchmark: "multi-hop", Answers: 2}}
	if diff := cmp.Diff(want, im.Report.Renamed); diff != "" {
		t.Error(diff)
	}
	if got := im.Records[0].Type; got != "multi-hop" {
		t.Errorf("the type is %q, and LoCoMo's category 1 is multi-hop", got)
	}
}

// TestLetters imports letters, which refer to the file's order of options whatever the order in a
// replay.
func TestLetters(t *testing.T) {
	dir := t.TempDir()
	table := "persona_id,question_id,question_type,topic,user_question_or_message,correct_answer,all_options,shared_context_id,end_index_in_shared_context\n"
	for _, q := range []string{"1", "2", "3", "4", "5"} {
		table += "0,q" + q + ",t,tea,Which " + q + "?,(c),\"['(a) Mint', '(b) Black', '(c) Green', '(d) None']\",c0,1\n"
	}
	for name, text := range map[string]string{"q.csv": table, "shared_contexts.jsonl": `{"c0": [{"role": "user", "content": "x"}]}`} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	b, err := source.Open(t.Context(), filepath.Join(dir, "q.csv"), source.Options{FileOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	im := read(t, Spec{Dataset: b, Mapping: file(t, "m.yaml", "question: $.q\nanswer: $.said\n"),
		Files: []string{file(t, "a.json", `[{"q": "Which 1?", "said": "(c)"}, {"q": "Which 2?", "said": "(c)"}, {"q": "Which 3?", "said": "(a)"}]`)}})
	right := 0
	for _, r := range im.Records {
		v, err := scorer.Checks{}.Score(t.Context(), r.Item())
		if err != nil {
			t.Fatal(err)
		}
		if v.Passed() {
			right++
		}
	}
	if right != 2 || len(im.Records) != 3 {
		t.Errorf("%d of %d letters are right", right, len(im.Records))
	}
}

// TestVerifySources changes a file of answers after its import, and a vote in the result.
func TestVerifySources(t *testing.T) {
	source := file(t, "v.json", `{"c": [{"question": "Q1?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": true, "3": false}}]}`)
	im := read(t, Spec{Files: []string{source}})
	_, path, err := im.Write(t.Context(), t.TempDir(), im.Identity("x", result.ToolID{Version: "v", OS: "linux", Arch: "amd64", Go: "go", CPUs: 1}))
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		rep, err := verify.File(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rep.Differences, rep.NotChecked); !strings.Contains(got, want) {
			t.Errorf("%s does not say %s", got, want)
		}
	}
	data := filetest.Read(t, path)
	changed := bytes.Replace(data, []byte(`"votes":[1,1,0]`), []byte(`"votes":[1,0,0]`), 1)
	if bytes.Equal(changed, data) {
		t.Fatal("the result has no votes")
	}
	for _, step := range []struct{ content, want string }{{"other", "v.json\\\" has changed"}, {"", "cannot be read here"}} {
		if step.content == "" {
			err = os.Remove(source)
		} else {
			err = os.WriteFile(source, []byte(step.content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		check(strings.ReplaceAll(step.want, "\\", ""))
	}
	filetest.Write(t, path, changed)
	check(".score")
}
