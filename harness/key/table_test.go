package key

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// recorded returns a result that records every setting.
func recorded() *result.Result {
	id := wholeIdentity()
	id.ExactCase, id.External = new(true), &result.ExternalScorer{Name: "s", Version: "1"}
	id.Tool.OS = "linux"
	id.Replay = &result.ReplayID{Sample: "s1", Ingest: "bulk", Actor: result.Actor{Style: "full", QuestionDate: true}}
	return &result.Result{
		SDK: "go", ScorerName: "judge", Identity: id, Replay: &result.Replay{Arm: "go"},
		EffectiveModes: map[string]int{"hybrid": 3}, Fusions: map[string]int{"score 0.2": 3},
		ReaderModels: map[string]int{"m": 3}, ReaderPrompts: map[string]int{"p": 3},
		Retrieval: &result.Retrieval{Depth: &result.Depth{}},
	}
}

func fileOf(name string, r *result.Result) *File {
	return &File{Name: name, Result: r, Asked: &QuestionKey{Questions: "3", Dates: "1", Gold: "g", Documents: "d"}}
}

// changes has how a file differs in each setting of a result, and, where that is possible, how it
// does not record it.
var changes = map[string]struct{ other, omit func(*File) }{
	"dataset": {
		in(func(r *result.Result) { r.Identity.Dataset.SHA256 = "zz" }),
		in(func(r *result.Result) { r.Identity.Imported = &result.ImportedID{SHA256: []string{"aa"}} }),
	},
	"questions":       {other: func(f *File) { f.Asked.Questions = "4" }},
	"selection":       {other: in(func(r *result.Result) { r.Identity.Dataset.Selection = &result.Selection{SHA256: "ss", Limit: 3} })},
	"complete":        {other: in(func(r *result.Result) { r.Stopped = result.StopBudget })},
	"gold":            {other: func(f *File) { f.Asked.Gold = "h" }},
	"gold_documents":  {other: func(f *File) { f.Asked.Documents = "e" }},
	"question_date":   {other: func(f *File) { f.Asked.Dates = "2" }},
	"scenario":        {other: in(func(r *result.Result) { r.Identity.Scenario = result.AskAugmented })},
	"mode":            {other: in(func(r *result.Result) { r.Identity.Mode = "bm25" })},
	"effective_modes": {in(func(r *result.Result) { r.EffectiveModes = map[string]int{"bm25": 3} }), in(func(r *result.Result) { r.ModesUnknown = 1 })},
	"fusions":         {other: in(func(r *result.Result) { r.Fusions = map[string]int{"rrf": 3} })},
	"top_k":           {other: in(func(r *result.Result) { r.Identity.TopK++ })},
	"candidate_k":     {other: in(func(r *result.Result) { r.Identity.CandidateK++ })},
	"rerank_top_n":    {other: in(func(r *result.Result) { r.Identity.RerankTopN++ })},
	"max_per_document": {
		other: in(func(r *result.Result) { r.Identity.MaxPerDocument = new(2) }),
	},
	"depth":           {in(func(r *result.Result) { r.Retrieval = nil }), in(func(r *result.Result) { r.Retrieval = &result.Retrieval{} })},
	"scorer":          {other: in(func(r *result.Result) { r.Identity.Scorer = "checks" })},
	"gold_kind":       {other: in(func(r *result.Result) { r.Gold = result.ByEvidence })},
	"external_scorer": {other: in(func(r *result.Result) { r.Identity.External.FilesSHA256 = "ff" })},
	"exact_case":      {other: in(func(r *result.Result) { r.Identity.ExactCase = new(false) })},
	"judge":           {other: in(func(r *result.Result) { r.Identity.Judge.Model = "k" })},
	"judge_panel":     {other: in(func(r *result.Result) { r.Identity.Panel = []result.Recipe{{Name: "strict"}} })},
	"judge_prompt":    {other: in(func(r *result.Result) { r.Identity.Judge.PromptSHA256 = "dd" })},
	"reader":          {other: in(func(r *result.Result) { r.ReaderModels = map[string]int{"n": 3} })},
	"reader_prompt": {
		in(func(r *result.Result) { r.ReaderPrompts = map[string]int{"q": 3} }), in(func(r *result.Result) { r.ReaderPrompts = nil }),
	},
	"corpus":         {other: in(func(r *result.Result) { r.Identity.Corpus = nil })},
	"ingest":         {other: in(func(r *result.Result) { r.Identity.Replay.Shared = true })},
	"isolated":       {other: in(func(r *result.Result) { r.Identity.Isolated = true })},
	"repeats":        {other: in(func(r *result.Result) { r.Identity.Dataset.Repeats = 2 })},
	"concurrency":    {other: in(func(r *result.Result) { r.Settings.Concurrency = 9 })},
	"machine":        {in(func(r *result.Result) { r.Identity.Tool.OS = "plan9" }), in(func(r *result.Result) { r.Identity.Tool.OS = "" })},
	"query":          {other: in(func(r *result.Result) { r.Mapped = &result.MappedService{Query: "keywords"} })},
	"daemon":         {other: in(func(r *result.Result) { r.Identity.Daemon.Version = "2" })},
	"tool":           {other: in(func(r *result.Result) { r.Identity.Tool.Version = "2" })},
	"schema_version": {other: in(func(r *result.Result) { r.Identity.SchemaVersion++ })},
	"kind":           {other: in(func(r *result.Result) { r.Replay, r.SDK = nil, "go" })},
	"name":           {other: in(func(r *result.Result) { r.Identity.SDK = "py" })},
	"brain":          {other: in(func(r *result.Result) { r.Identity.Brain = "b" })},
	"brain_tag":      {other: in(func(r *result.Result) { r.Identity.BrainTag = "b" })},
	"dialect":        {other: in(func(r *result.Result) { r.Identity.Dialect = result.Snake })},
	"sample":         {other: in(func(r *result.Result) { r.Identity.Replay.Sample = "s2" })},
	"order":          {other: in(func(r *result.Result) { r.Identity.Dataset.Selection.Seed = new(uint64(1)) })},
	"style":          {other: in(func(r *result.Result) { r.Identity.Replay.Actor.Style = "retrieve-only" })},
	"errata":         {other: in(func(r *result.Result) { r.Identity.Replay.Errata = "e" })},
	"option_seed":    {other: in(func(r *result.Result) { r.Identity.Replay.OptionSeed = 1 })},
	"rescored":       {other: in(func(r *result.Result) { r.Identity.Rescored = &result.RescoreSource{SHA256: "r"} })},
	"places":         {other: in(func(r *result.Result) { r.Identity.Dataset.Path = "elsewhere" })},
}

// alongside are the settings that follow from another one, and differ with it.
var alongside = map[string][]string{
	"dataset": {"imported"}, "order": {"selection"},
}

func in(change func(*result.Result)) func(*File) { return func(f *File) { change(f.Result) } }

// pair returns two files that record everything and agree in everything, of the kind that has the
// setting.
func pair(s *Setting) (a, b *File) {
	if s.scope == ofBench {
		of := func(name string) *File {
			leaves := map[string]string{}
			for i := range table {
				if table[i].scope == ofBench {
					leaves[table[i].leaves] = "1"
				}
			}
			return &File{Name: name, Leaves: leaves}
		}
		return of("a"), of("b")
	}
	a, b = fileOf("a", recorded()), fileOf("b", recorded())
	if s.Name == "gold_kind" { // it is the scorer's
		a.Result.Identity.Scorer, b.Result.Identity.Scorer = byRetrieval, byRetrieval
	}
	return a, b
}

// TestTable checks that each setting has a role for each purpose, and everything that identifies a
// result a setting.
func TestTable(t *testing.T) {
	names, leaves := map[string]bool{}, map[string]bool{}
	for i := range table {
		s := &table[i]
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		for p := range purposes {
			if r := s.Role(p); r < Equal || r > Ignored {
				t.Errorf("%s has no role for purpose %d", s.Name, p)
			}
		}
		for _, l := range strings.Fields(s.leaves) {
			if leaves[l] {
				t.Errorf("%s is the leaf of two settings", l)
			}
			leaves[l] = true
		}
		if s.within != "" {
			settingOf(s.within) // panics if there is none
		}
	}
	var id result.Identity
	fill(reflect.ValueOf(&id).Elem())
	for leaf := range Leaves(id) {
		if settingAt(leaf) == nil {
			t.Errorf("no setting has %s of the identity: add a row to the table", leaf)
		}
	}
}

// fill sets every field of plain values.
func fill(v reflect.Value) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(1, 0)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key := reflect.New(v.Type().Key()).Elem()
		fill(key)
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}

// TestRoles has, for each setting and each purpose, two files that differ in the setting alone, and
// two of which one does not record it.
func TestRoles(t *testing.T) {
	for i := range table {
		s := &table[i]
		t.Run(s.Name, func(t *testing.T) {
			a, b := pair(s)
			c, has := changes[s.Name]
			switch {
			case s.scope == ofBench:
				b.Leaves[s.leaves] = "2"
			case has:
				c.other(b)
			case s.Name == "judge_votes" || s.Name == "imported": // of imported answers, see TestImported
				value := s.value
				defer func() { s.value = value }()
				s.value = func(f *File) string { return f.Name }
			default:
				t.Fatal("the test has no files that differ in it: add a row to changes")
			}
			for p := range purposes {
				testRole(t, p, s, Differs, a, b)
			}
			// What a file lacks, whatever the reason.
			if a, b = pair(s); c.omit != nil {
				c.omit(b)
			} else {
				value := s.value
				defer func() { s.value = value }()
				s.value = func(f *File) string { return map[string]string{"a": orNone(s.only)}[f.Name] }
			}
			for p := range purposes {
				testRole(t, p, s, NotRecorded, a, b)
			}
		})
	}
}

// testRole checks what the role of a setting makes of two files that do not agree in it alone.
func testRole(t *testing.T, p Purpose, s *Setting, state State, a, b *File) {
	t.Helper()
	role, files := s.Role(p), []*File{a, b}
	all, refused := Check(p, files, nil)
	var found *Agreement
	for i, k := range all {
		switch {
		case k.Name == s.Name:
			found = &all[i]
		case k.State != Same && !slices.Contains(alongside[s.Name], k.Name):
			t.Errorf("purpose %d: %s does not agree either: %+v", p, k.Name, k)
		}
	}
	if role == Ignored {
		if found != nil {
			t.Errorf("purpose %d: it is shown", p)
		}
		return
	}
	if found == nil || found.State != state || found.Accepted || found.Matters != (role != Compared) {
		t.Fatalf("purpose %d: got %+v, want the state %s", p, found, state)
	}
	missing := slices.Contains(Missing(p, b), s.Name)
	if want := state == NotRecorded && role != Compared; missing != want {
		t.Errorf("purpose %d: missing is %v", p, missing)
	}
	if role == Compared {
		if refused != nil && slices.Contains(refused.Differing, s.Name) {
			t.Errorf("purpose %d: refused: %v", p, refused)
		}
		return
	}
	if refused == nil || !slices.Contains(refused.Differing, s.Name) {
		t.Fatalf("purpose %d: not refused: %v", p, refused)
	}
	says := []string{s.Name + " differs (a ", ", b "}
	if state == NotRecorded {
		says = []string{s.Name + " is not recorded by b"}
	}
	if len(refused.Differing) == 1 && role == Named {
		says = append(says, "--accept "+s.Name)
	}
	for _, text := range says {
		if !strings.Contains(refused.Error(), text) {
			t.Errorf("purpose %d: %q does not say %q", p, refused, text)
		}
	}
	all, refused = Check(p, files, refused.Differing)
	if accepted := refused == nil; accepted != (role == Named) {
		t.Errorf("purpose %d: accepted is %v: %v", p, accepted, refused)
	}
	if text := Accepted([]string{"a", "b"}, all); role == Named && !strings.Contains(text, s.Name) {
		t.Errorf("purpose %d: what was accepted is %q", p, text)
	}
}

// TestResumeOfEveryLeaf changes every leaf of an identity by itself, and leaves it out.
func TestResumeOfEveryLeaf(t *testing.T) {
	var id result.Identity
	fill(reflect.ValueOf(&id).Elem())
	for leaf := range Leaves(id) {
		for _, value := range []string{"another", ""} {
			now := Leaves(id)
			if now[leaf] = value; value == "" {
				delete(now, leaf)
			}
			for p := range purposes {
				want := []string{leaf}
				if settingAt(leaf).Role(p) == Ignored {
					want = nil
				}
				if got := changed(p, Leaves(id), now); !slices.Equal(got, want) {
					t.Errorf("purpose %d, %s: %q", p, leaf, got)
				}
			}
		}
	}
}

// TestImported has what is recorded of answers that another harness stored.
func TestImported(t *testing.T) {
	files := func(change func(*result.ImportedID)) []*File {
		var out []*File
		for _, name := range []string{"a", "b"} {
			id := result.Identity{
				Scorer: scorer.Imported, Scenario: result.ImportedAnswers, Dataset: result.DatasetID{SHA256: "d"},
				Imported: &result.ImportedID{Formats: []string{"zep"}, SHA256: []string{name}, JudgeID: "j", Votes: "1", Reader: "r"},
			}
			if name == "b" {
				change(id.Imported)
			}
			out = append(out, fileOf(name, &result.Result{SDK: name, Identity: id}))
		}
		return out
	}
	for name, c := range map[string]struct {
		change func(*result.ImportedID)
		want   string
	}{
		"the same":         {func(*result.ImportedID) {}, ""},
		"another judge":    {func(id *result.ImportedID) { id.JudgeID = "k" }, "judge differs (a j, b k); judge_prompt differs"},
		"another model":    {func(id *result.ImportedID) { id.JudgeModels = []string{"m"} }, "judge differs (a j, b j, m)"},
		"another prompt":   {func(id *result.ImportedID) { id.JudgePrompt = "p" }, "judge_prompt differs (a prompt of j, b p)"},
		"no judge":         {func(id *result.ImportedID) { id.JudgeID = "" }, "judge is not recorded by b"},
		"a model, no more": {func(id *result.ImportedID) { id.JudgeID, id.JudgeModels = "", []string{"j"} }, "judge_prompt is not recorded by b"},
		"other votes":      {func(id *result.ImportedID) { id.Votes = "the majority of 3" }, "judge_votes differs (a 1, b the majority of 3)"},
		"no votes":         {func(id *result.ImportedID) { id.Votes = "" }, "judge_votes is not recorded by b"},
		"another layout":   {func(id *result.ImportedID) { id.Formats = []string{"lines"} }, "scorer differs"},
		"another reader":   {func(id *result.ImportedID) { id.Reader = "s" }, "reader differs (a r, b s)"},
		"no reader":        {func(id *result.ImportedID) { id.Reader = "" }, "reader is not recorded by b"},
		"no dataset":       {func(id *result.ImportedID) { id.SHA256 = []string{"d"} }, "dataset is not recorded by b"},
		"the dataset by its name": {func(id *result.ImportedID) { id.SHA256, id.Benchmark = []string{"d"}, "locomo 10" },
			"dataset differs (a d, b locomo 10)"},
	} {
		for _, p := range []Purpose{Compare, Board} {
			_, refused := Check(p, files(c.change), nil)
			text := ""
			if refused != nil {
				text = refused.Error()
			}
			if (c.want == "") != (refused == nil) || !strings.Contains(text, c.want) {
				t.Errorf("%s: got %q, want %q", name, text, c.want)
			}
		}
	}
}

// TestKinds puts files of different kinds beside a run: those that have no part in a setting agree
// with any, and JSON lines record nothing but their questions.
func TestKinds(t *testing.T) {
	baseline := recorded()
	baseline.Identity.Scenario, baseline.Identity.Mode = result.NoMemory, ""
	mapped := recorded()
	mapped.Mapped, mapped.EffectiveModes, mapped.ModesUnknown = &result.MappedService{Query: "question", NotMeasurable: map[string]string{"modes": "no reply says it"}}, nil, 3
	silent := recorded() // a daemon that reports no reader, which was configured
	silent.ReaderModels, silent.ReaderPrompts, silent.Identity.Reader = nil, nil, &result.ModelID{Model: "m"}
	failed := recorded()
	failed.EffectiveModes, failed.Fusions, failed.ReaderModels, failed.ReaderPrompts = nil, nil, nil, nil
	failed.Counts = result.Counts{Total: 3, Errors: 3}
	lines := fileOf("b", nil)
	for name, c := range map[string]struct {
		other *File
		want  string
	}{
		"a baseline":                  {fileOf("b", baseline), ""},
		"a mapping":                   {fileOf("b", mapped), ""},
		"a daemon that says no model": {fileOf("b", silent), ""},
		"a run without an answer":     {fileOf("b", failed), ""},
		"JSON lines":                  {lines, "dataset scorer reader"},
	} {
		got := ""
		if _, refused := Check(Compare, []*File{fileOf("a", recorded()), c.other}, nil); refused != nil {
			got = strings.Join(refused.Differing, " ")
		}
		if got != c.want {
			t.Errorf("%s: they differ in %q, want %q", name, got, c.want)
		}
	}
}

// TestSides names a side of which one of several runs does not record a setting.
func TestSides(t *testing.T) {
	a := Agreement{Name: "judge", State: NotRecorded, Values: []string{Join([]string{"j", "", "j"}), Join([]string{"j", "j"})}}
	if got := a.Text([]string{"old", "new"}); got != "judge is not recorded by old" || a.Values[1] != "j" {
		t.Errorf("%q of %q", got, a.Values)
	}
}
