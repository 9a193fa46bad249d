package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// files are result files of every kind, as they are written.
func files(tb testing.TB) map[string]string {
	return map[string]string{
		"exact": runFile(tb, 15, 0, scorer.Exact{}), "retrieval": runFile(tb, 12, 0, scorer.Retrieval{TopK: 2}),
		"evidence": runFile(tb, 12, 0, scorer.Retrieval{TopK: 2, Evidence: true}),
		"judge":    runFile(tb, 15, 0, judge{}), "stopped": runFile(tb, 15, 13, scorer.Exact{}),
		"replay": replayFile(tb, 15),
	}
}

func verified(tb testing.TB, path string) *Report {
	tb.Helper()
	rep, err := File(path)
	if err != nil {
		tb.Fatal(err)
	}
	return rep
}

func TestWrittenFiles(t *testing.T) {
	for name, path := range files(t) {
		rep := verified(t, path)
		if !rep.OK || rep.Figures < 60 || rep.Questions < 12 {
			t.Errorf("%s: %d figures of %d questions, %+v", name, rep.Figures, rep.Questions, rep.Differences)
		}
	}
}

// mutants calls each with every leaf of a JSON value changed in turn, and with every key and every
// element removed.
func mutants(path string, v any, set func(any), each func(path string)) {
	try := func(other any) {
		set(other)
		each(path)
		set(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, old := range v {
			if path == "" && key == "questions" {
				continue
			}
			at := path + step(key)
			if !scalar(old) {
				delete(v, key)
				each(at)
				v[key] = old
			}
			mutants(at, old, func(other any) { v[key] = other }, each)
		}
	case []any:
		if len(v) > 0 {
			try(v[:len(v)-1])
		}
		for i, old := range v {
			mutants(path+"["+text(i)+"]", old, func(other any) { v[i] = other }, each)
		}
	case json.Number:
		f, _ := v.Float64()
		if f != 0 && strings.Contains(v.String(), ".") {
			try(f * 0.999)
		} else {
			try(f + 1)
		}
	case string:
		try(v + "x")
	case bool:
		try(!v)
	case nil:
		try(1)
	}
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// TestEveryFigure changes every value of the head of result files, one at a time, and checks that
// each change is named, unless the value does not follow from the questions. The questions, which
// do not change, are read once; File is compared for some of the changes.
func TestEveryFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for name, path := range files(t) {
		if name != "exact" && name != "replay" {
			continue // these have all keys
		}
		data := filetest.Read(t, path)
		whole := mustDecode(t, data).(map[string]any)
		_, questions, _ := bytes.Cut(data, []byte("\n  \"questions\": "))
		delete(whole, "questions")
		f := read(t, path)
		changed := filepath.Join(t.TempDir(), "go.json")
		n := 0
		mutants("", whole, nil, func(at string) {
			if name == "replay" && !strings.HasPrefix(at, ".replay") && !strings.HasPrefix(at, ".cost") {
				return // as in a run
			}
			head, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			n++
			found := f.differences(t, head)
			if n%25 == 0 && follows(at) { // the figures depend on the identity
				file := slices.Concat(head[:len(head)-1], []byte(`,"questions":`), questions)
				filetest.Write(t, changed, file)
				if rep, err := File(changed); err == nil && !reflect.DeepEqual(rep.Differences, found) {
					t.Errorf("%s: after a change of %s File finds %+v, not %+v", name, at, rep.Differences, found)
				}
			}
			if found == nil || !follows(at) || at == ".brains" {
				return // an error says where
			}
			for _, d := range found {
				if strings.HasPrefix(d.Path, at) || strings.HasPrefix(at, d.Path) {
					return
				}
			}
			t.Errorf("%s: a change of %s is not named: %+v", name, at, found)
		})
		if n < 150 {
			t.Errorf("%s: only %d changes", name, n)
		}
	}
}

// read returns the figures of the questions of a file without differences.
func read(tb testing.TB, path string) *figures {
	tb.Helper()
	r, err := resultfile.OpenUnchecked(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	res, rep := r.Result(), &Report{}
	f := newFigures(&res)
	if err := f.add(r.RawQuestions(), &res, rep); err != nil || rep.Found > 0 {
		tb.Fatalf("%v, %+v", err, rep)
	}
	return f
}

// differences compares a head with the figures as File does, nil if it cannot be read.
func (f *figures) differences(tb testing.TB, head []byte) []Difference {
	tb.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(head, &members); err != nil {
		tb.Fatal(err)
	}
	members["questions"] = json.RawMessage("[]")
	var res result.Result
	if json.Unmarshal(head, &res) != nil {
		return nil
	}
	rep := &Report{}
	if err := rep.checkHead(members); err != nil {
		tb.Fatal(err)
	}
	if err := rep.compare(members, f.recompute(&res, rep), f.follows); err != nil {
		tb.Fatal(err)
	}
	rep.order()
	return rep.finish().Differences
}

// TestEveryPartOfAQuestion changes every value of a question, as evalctl writes it. Whatever the
// schema rejects must be named, although the schema itself is not asked for each question, and so
// must be what follows from other parts.
func TestEveryPartOfAQuestion(t *testing.T) {
	if testing.Short() {
		t.Skip("the others run all that is concurrent")
	}
	_, questions := records(t, replayFile(t, 8))
	// What is not checked: only a judge can, or nothing else says so.
	free := []string{
		".id", ".question", ".answer", ".reason", ".citations", ".effective_mode", ".fusion", ".model", ".prompt_sha256",
		".reference_answer", ".expected_substrings", ".line", ".judge_verdict", ".judge_type", ".question_type",
		".loss", ".retrieved", ".retrieval.documents", ".tags", ".latency_ms", ".felt_ms", ".first_delta_ms", ".search_ms", ".usage", ".attempts",
		".failed_attempts", ".timeline", ".judge_attempts", ".judge_usage", ".judge_usd", ".judge_saved_usd", ".actor", ".error",
		".score", ".retrieval.gold", ".returned", ".asked_at", ".judged_at", ".judge_ms",
	}
	check := &checker{topK: 2, replay: true, brains: []string{""}}
	for i := range questions {
		line, err := json.Marshal(questions[i])
		if err != nil {
			t.Fatal(err)
		}
		q, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		mutate := func(at string) {
			line, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			valid := true
			violations(compiled().question, mustDecode(t, line), func(string, string) { valid = false })
			// The typed form has the keys in the order of evalctl.
			var rec result.Record
			if json.Unmarshal(line, &rec) == nil {
				if typed, err := json.Marshal(rec); err == nil {
					if v, err := decode(typed); err == nil && reflect.DeepEqual(v, q) {
						line = typed
					}
				}
			}
			found := check.batch(batch{first: 1, texts: [][]byte{line}}).found
			under := func(p string) bool { return strings.HasPrefix(at, p) }
			if questions[i].Outcome == result.Errored && (under(".expected_paths") || at == ".retrieval") {
				return // which the figures of retrieval count
			}
			if len(found) == 0 && (!valid || !slices.ContainsFunc(free, under)) {
				t.Errorf("question %d: a change of %s is not named (schema accepts it: %v): %s", i, at, valid, line)
			}
		}
		mutants("", q, nil, mutate)
		for _, key := range slices.Sorted(maps.Keys(q.(map[string]any))) {
			object := q.(map[string]any)
			old := object[key]
			for _, other := range []any{nil, "", json.Number("-1"), json.Number("2"), true, []any{}, map[string]any{}} {
				if reflect.DeepEqual(old, other) {
					continue
				}
				object[key] = other
				mutate("." + key)
			}
			object[key] = old
		}
	}
}

func mustDecode(tb testing.TB, data []byte) any {
	tb.Helper()
	v, err := decode(data)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// BenchmarkFile verifies a file of some 20 MB whose answers have five passages each.
func BenchmarkFile(b *testing.B) {
	res, questions := records(b, runFile(b, 40, 0, judge{}))
	sum := aggregate.New(2)
	var many []result.Record
	for i := range 6000 {
		q := questions[i%40]
		q.ID = fmt.Sprintf("q%d", i)
		q.Answer = strings.Repeat("A sentence of an answer, with a \"quote\". ", 8)
		q.Retrieved = slices.Repeat(q.Retrieved[:1], 5)
		for j := range q.Retrieved {
			q.Retrieved[j].Text = strings.Repeat("Some text of a passage that was retrieved. ", 12)
		}
		sum.Add(q)
		many = append(many, q)
	}
	res.Identity.Dataset.Selected, res.Planned = 6000, 6000
	sum.Fill(&res)
	sum.Judge(&res)
	path := write(b, res, many)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if rep := verified(b, path); rep.Questions != 6000 {
			b.Fatalf("%d questions", rep.Questions)
		}
	}
}

// TestMoney: the amounts of a file are the sums over its questions and the requests that belong to
// none, to the last digit.
func TestMoney(t *testing.T) {
	res, questions := records(t, runFile(t, 15, 0, judge{}))
	calls := []result.JudgeCall{
		{ID: "q1", Attempt: 1, Outcome: result.InFlight, Charged: result.ByWorstCase, USD: 7},
		{ID: "q2", Attempt: 1, Outcome: llm.OutcomeAnswered, Charged: result.ByUsage, USD: 2 * llm.Dollar, InputTokens: 5, OutputTokens: 1},
	}
	res.Cost.Unassigned = calls
	res.Cost.SpentUSD += 7 + 2*llm.Dollar
	res.Cost.MayHaveBeenChargedUSD = 7
	res.Cost.JudgeRequests += 2
	res.Cost.InputTokens += 5
	res.Cost.OutputTokens++
	res.Cost.SetParts(result.CostParts{JudgeUSD: res.Cost.SpentUSD, MayHaveUSD: 7}, nil)
	rep, err := File(write(t, res, questions))
	if err != nil || !rep.OK || !slices.Contains(rep.NotChecked, "the payments, which have no bill") {
		t.Fatalf("%v, %+v", err, rep)
	}
	for path, change := range map[string]func(*result.Cost){
		".cost.spent_usd":                 func(c *result.Cost) { c.SpentUSD++ }, // of two billion
		".cost.may_have_been_charged_usd": func(c *result.Cost) { c.MayHaveBeenChargedUSD = 0 },
		".cost.judge_requests":            func(c *result.Cost) { c.JudgeRequests-- },
		".cost.input_tokens":              func(c *result.Cost) { c.InputTokens++ },
		".cost.usage_implausible":         func(c *result.Cost) { c.UsageImplausible = 1 },
	} {
		changed := res
		change(&changed.Cost)
		rep, err := File(write(t, changed, questions))
		if err != nil || rep.Found != 1 || rep.Differences[0].Path != path {
			t.Errorf("%s: %v, %+v", path, err, rep.Differences)
		}
	}
}

// TestSavings: what a replay saved is what its questions saved and what belongs to none, and its
// list cost adds up.
func TestSavings(t *testing.T) {
	path := replayFile(t, 15)
	for at, change := range map[string]func(*result.CostAccounting, []result.Record){
		"":                                     func(*result.CostAccounting, []result.Record) {},
		".cost_accounting.cached_savings_usd":  func(c *result.CostAccounting, _ []result.Record) { c.CachedSavingsUSD++ },
		".cost_accounting.cached_savings_usd ": func(c *result.CostAccounting, _ []result.Record) { c.List.UnassignedSavingsUSD = 0 },
		".cost_accounting.cached_savings_usd by the reader": func(_ *result.CostAccounting, q []result.Record) {
			q[3].Actor.SavedUSD *= 2
		},
		".cost_accounting.cached_savings_usd by the judge": func(_ *result.CostAccounting, q []result.Record) {
			q[2].JudgeSavedUSD *= 2
		},
		".cost_accounting.list_cost.usd":         func(c *result.CostAccounting, _ []result.Record) { c.List.USD = new(*c.List.USD * 2) },
		".cost_accounting.list_cost.usd gone":    func(c *result.CostAccounting, _ []result.Record) { c.List.USD = nil },
		".cost_accounting.list_cost.usd saved":   func(c *result.CostAccounting, _ []result.Record) { c.List.SavedUSD += llm.Dollar },
		".cost_accounting.list_cost.shared_usd":  func(c *result.CostAccounting, _ []result.Record) { c.List.SharedUSD = llm.Dollar },
		".cost_accounting.usd_per_correct spent": func(c *result.CostAccounting, _ []result.Record) { c.List = nil },
	} {
		res, questions := records(t, path)
		change(res.CostAccounting, questions)
		rep, err := File(write(t, res, questions))
		want, _, _ := strings.Cut(at, " ")
		found := slices.ContainsFunc(rep.Differences, func(d Difference) bool { return d.Path == want })
		if err != nil || found != (at != "") || rep.OK != (at == "") {
			t.Errorf("%q: %v, %+v", at, err, rep.Differences)
		}
	}
	// Of one arm, no more is saved than by all hits.
	for saved, ok := range map[llm.USD]bool{0: true, 1: false} {
		res, questions := records(t, path)
		c := res.CostAccounting
		res.Replay.Together, c.List.SharedUSD = nil, 0
		c.List.SavedUSD = c.CachedSavingsUSD + saved
		c.List.USD = c.ListUSD()
		aggregate.PerCorrect(c, res.Counts, res.Believed())
		rep, err := File(write(t, res, questions))
		if err != nil || rep.OK != ok || !ok && rep.Differences[0].Path != ".cost_accounting.list_cost.saved_usd" {
			t.Errorf("one arm, %d more: %v, %+v", saved, err, rep.Differences)
		}
	}
}

// TestNotChecked: what does not follow from the questions is named, and not compared with
// itself.
func TestNotChecked(t *testing.T) {
	res, questions := records(t, runFile(t, 15, 0, judge{}))
	res.ReaderCost = &result.ReaderCost{Models: map[string]result.ReaderModelCost{"m": {TokenSums: res.ReaderUsage}}}
	figures := -1
	for _, escaped := range [][]string{nil, {"7 sh", "8 sleep"}} {
		res.Escaped, res.Cost.PricesDate, res.ReaderCost.PricesDate = escaped, "2026-01-01", "2026-01-01"
		rep, err := File(write(t, res, questions))
		if err != nil || !rep.OK {
			t.Fatalf("%v, %+v", err, rep.Differences)
		}
		said := func(what string) bool { return slices.Contains(rep.NotChecked, what) }
		if said("processes that the daemon left behind") != (escaped != nil) || !said("the day of the judge's price") ||
			!said("the list prices of the reader's tokens") {
			t.Errorf("%d escaped: %q", len(escaped), rep.NotChecked)
		}
		if figures >= 0 && rep.Figures != figures {
			t.Errorf("%d figures, and %d with escaped processes", figures, rep.Figures)
		}
		figures = rep.Figures
	}
}

// TestListedReplay: a replay of listed questions has no estimate, but older files may have one.
func TestListedReplay(t *testing.T) {
	res, questions := records(t, replayFile(t, 15))
	res.Replay.Sample.Listed = true
	drawn := *res.Replay.Weighted
	wrong := drawn
	wrong.Mean /= 2
	for name, c := range map[string]struct {
		estimate *result.Estimate
		ok       bool
	}{"none": {nil, true}, "older": {&drawn, true}, "wrong": {&wrong, false}} {
		res.Replay.Weighted = c.estimate
		if rep, err := File(write(t, res, questions)); err != nil || rep.OK != c.ok {
			t.Errorf("%s: %v, %+v", name, err, rep.Differences)
		}
	}
}

// TestEvidenceIsLookedForAgain checks that ranks, recall and sizes must be those of the chunks.
func TestEvidenceIsLookedForAgain(t *testing.T) {
	record := func() *result.Record {
		r := &result.Record{ExpectedEvidence: []string{"the blue boat", "the red boat"}, Reply: result.Reply{
			Retrieved: []result.Chunk{{Text: "no"}, {Text: "the blue boat is old"}},
		}}
		r.CompareEvidence(2)
		r.Returned = new(result.SizeOf(r.Retrieved, 2))
		return r
	}
	for want, change := range map[string]func(*result.Record){
		"":                 func(*result.Record) {},
		".evidence":        func(r *result.Record) { r.Evidence.Ranks[1] = 1 },
		".evidence.recall": func(r *result.Record) { r.Evidence.Recall = 1 },
		".returned":        func(r *result.Record) { r.Returned.Tokens++ },
	} {
		r, found := record(), ""
		change(r)
		(&checker{topK: 2}).evidence(r, func(d Difference) { found += d.Path })
		if found != want {
			t.Errorf("found %q, want %q", found, want)
		}
	}
	gone := record()
	gone.Evidence, gone.Returned, gone.Outcome = nil, nil, result.Scored
	found := false
	(&checker{topK: 2}).evidence(gone, func(Difference) { found = true })
	if !found {
		t.Error("missing evidence is not named")
	}
}

// TestKeysOfTheHead: a key at the top of a result that the schema does not have, or spells
// otherwise, is a difference, whatever its letters are.
func TestKeysOfTheHead(t *testing.T) {
	whole := runFile(t, 5, 0, scorer.Exact{})
	if rep := verified(t, whole); !rep.OK {
		t.Fatalf("the file as it was written: %+v", rep.Differences)
	}
	data := filetest.Read(t, whole)
	for name, tt := range map[string]struct{ key, changed, path string }{
		"unknown":           {"passed", `"x1": 1, "passed"`, ".x1"},
		"with a digit":      {"passed", `"pass_rate_95": 0.99, "passed"`, ".pass_rate_95"},
		"with a hyphen":     {"passed", `"pass-rate": 0.99, "passed"`, `["pass-rate"]`},
		"empty":             {"passed", `"": 1, "passed"`, `[""]`},
		"with a capital":    {"passed", `"Passed"`, ".Passed"},
		"with a long s":     {"passed", `"paſsed"`, `["paſsed"]`},
		"required":          {"identity", `"Identity"`, ".Identity"},
		"list of questions": {"questions", `"Questions"`, ".Questions"},
	} {
		file := bytes.Replace(data, []byte("\n  \""+tt.key+"\":"), []byte("\n  "+tt.changed+":"), 1)
		if bytes.Equal(file, data) {
			t.Fatalf("%s: the file has no key %s", name, tt.key)
		}
		rep := verified(t, filetest.Write(t, filepath.Join(t.TempDir(), "go.json"), file))
		named := slices.ContainsFunc(rep.Differences, func(d Difference) bool { return strings.Contains(d.Path+d.Problem, tt.path) })
		if rep.OK || rep.Found == 0 || !named {
			t.Errorf("%s: %d differences, %+v", name, rep.Found, rep.Differences)
		}
	}
}

// TestCachedAnswers verifies a replay with answers from evalctl's cache, and the same file as
// earlier versions wrote it, which count the times of all answers.
func TestCachedAnswers(t *testing.T) {
	res, questions := records(t, replayFile(t, 20))
	path := func() string {
		sum, extra := aggregate.New(2), aggregate.NewReplay()
		for _, q := range questions {
			sum.Add(q)
			extra.Add(q)
		}
		sum.Fill(&res)
		extra.Fill(&res)
		sum.Judge(&res)
		for i := range questions {
			questions[i].Actor.Cached = i%2 == 0
		}
		return write(t, res, questions)
	}
	earlier, now := path(), path()
	if res.Cached == 0 || res.Latency.N+res.Cached != res.Counts.Scored+res.Counts.Unscored {
		t.Errorf("%d answers from the cache, %d of %+v timed", res.Cached, res.Latency.N, res.Counts)
	}
	for _, p := range []string{earlier, now} {
		rep, err := File(p)
		if err != nil || !rep.OK {
			t.Errorf("%v: %+v", err, rep.Differences)
		}
	}
}
