package audit

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// save saves a result whose questions are + passed and - failed, after a change of it.
func save(t *testing.T, name, outcomes string, change func(*resulttest.File)) string {
	t.Helper()
	f := resulttest.New(name, time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), outcomes)
	f.Identity.Scorer, f.ScorerName, f.Identity.Scenario = scorer.Imported, scorer.Imported, result.ImportedAnswers
	f.Identity.Imported = &result.ImportedID{Formats: []string{"zep"}, JudgeID: "j"}
	f.Imported = &result.ImportSource{Files: []result.ImportedFile{}}
	for i := range f.Questions {
		f.Questions[i].Reference, f.Questions[i].Answer = "the gold", "an answer"
	}
	if change != nil {
		change(f)
	}
	f.Fill()
	return f.Save(t, t.TempDir(), name+".json")
}

// only returns the finding of a claim.
func only(t *testing.T, claim string, s Spec) Finding {
	t.Helper()
	s.Claims = []string{claim}
	a, err := Run(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Findings) != 1 || a.Findings[0].Name != claim {
		t.Fatalf("%+v", a.Findings)
	}
	return a.Findings[0]
}

// TestClaims has for claims what the files say, and a part of the evidence.
func TestClaims(t *testing.T) {
	ids := filepath.Join(t.TempDir(), "ids")
	wrong := func(outcomes string) string { return save(t, "wrong", outcomes, nil) }
	long := func(f *resulttest.File) {
		for i := range f.Questions {
			f.Questions[i].Answer = strings.Repeat("word ", 1+9*(i%2))
		}
	}
	scenario := func(s result.Scenario) func(*resulttest.File) {
		return func(f *resulttest.File) { f.Identity.Scenario = s }
	}
	adversarial := func(n int) func(*resulttest.File) {
		return func(f *resulttest.File) {
			for i := range f.Questions {
				if f.Questions[i].Type = "temporal"; i < n {
					f.Questions[i].Type = "adversarial"
				}
			}
		}
	}
	// Of 100 answers, the first 50 are the gold.
	gold := func(f *resulttest.File) {
		for i := range f.Questions[:50] {
			f.Questions[i].Answer = "the gold"
		}
	}
	two := func(f *resulttest.File) { f.Questions[1].Answer = "a long answer" }
	many := strings.Repeat("+", 200)
	// The full context does as well where it answers, and fails to answer half of the questions.
	half := strings.Repeat("+", 100) + strings.Repeat("e", 100)
	most := "--" + strings.Repeat("+", 190) + strings.Repeat("-", 8)
	for name, c := range map[string]struct {
		claim    string
		spec     Spec
		says     Answer
		evidence string
	}{
		"no wrong answers": {"judge-passes-wrong-answers", Spec{Files: []string{save(t, "x", "++-", nil)}}, Unknown, ""},
		"a lenient judge":  {"judge-passes-wrong-answers", Spec{Files: []string{save(t, "x", "+++++++-", nil)}, Wrong: wrong("+---")}, Shown, "at least 0.833"},
		"a strict judge":   {"judge-passes-wrong-answers", Spec{Files: []string{save(t, "x", "++", nil)}, Wrong: wrong("----")}, NotShown, "0/4"},
		"errata": {"key-is-wrong", Spec{Files: []string{save(t, "x", "++-", func(f *resulttest.File) {
			f.Imported.Errata = &result.ImportedErrata{OldKey: []string{"a"}, All: result.Counts{Total: 3, Passed: 2}, Without: result.Counts{Total: 2, Passed: 1}}
		})}}, Shown, "2/3"},
		"without errata":   {"key-is-wrong", Spec{Files: []string{save(t, "x", "++-", nil)}}, Unknown, "without errata"},
		"adversarial":      {"category-5", Spec{Files: []string{save(t, "x", "++--", adversarial(2))}}, Shown, "2 adversarial questions count; the rate moves by +50.0 pp"},
		"none adversarial": {"category-5", Spec{Files: []string{save(t, "x", "++--", adversarial(0))}}, NotShown, "no adversarial"},
		"memory no better": {"full-context-equals-memory", Spec{Files: []string{save(t, "x", many, nil), save(t, "full", many, scenario(result.FullContext))}}, Shown, "less than 3 points"},
		"memory better":    {"full-context-equals-memory", Spec{Files: []string{save(t, "x", many, nil), save(t, "full", strings.Repeat("-", 200), scenario(result.FullContext))}}, NotShown, "the memory is better"},
		"errors of the full context": {"full-context-equals-memory", Spec{Files: []string{save(t, "x", most, nil), save(t, "full", half, scenario(result.FullContext))}}, NotShown,
			"+45.0 pp [+37.5 +52.0] over 200 questions"},
		"too few to say":          {"full-context-equals-memory", Spec{Files: []string{save(t, "x", "++-+", nil), save(t, "full", "+-++", scenario(result.FullContext))}}, Unknown, "too few"},
		"long answers please":     {"long-answers-please-the-judge", Spec{Files: []string{save(t, "x", strings.Repeat("-+", 30), long)}}, Shown, "+100.0 pp"},
		"length is no matter":     {"long-answers-please-the-judge", Spec{Files: []string{save(t, "x", strings.Repeat("--++", 15), long)}}, NotShown, "+0.0 pp"},
		"two answers are too few": {"long-answers-please-the-judge", Spec{Files: []string{save(t, "x", "-+", two)}}, NotShown, "+100.0 pp [-42"},
		"verdicts on the same answers": {"rate-hangs-on-the-prompt", Spec{Files: []string{save(t, "x", strings.Repeat("+", 60)+strings.Repeat("-", 40), gold)}}, Shown,
			"by +10.0 pp [+3.8 +16.0]"},
		"the gold is the answer": {"key-in-memory-or-tuned", Spec{Files: []string{save(t, "x", "++", func(f *resulttest.File) {
			f.Questions[0].Answer = "The  gold"
			f.Questions[1].Retrieved = []result.Chunk{{Text: "Q: " + f.Questions[1].Question + " A: the gold"}}
		})}}, Shown, "1 of 2 answers are the gold"},
		"passages without verdicts": {"recall-sold-as-accuracy", Spec{Files: []string{save(t, "x", "++", func(f *resulttest.File) {
			for i := range f.Questions {
				q := &f.Questions[i]
				q.Outcome, q.Score, q.Passed = result.Unjudged, nil, false
				q.ExpectedPaths, q.Retrieved = []string{"a.md"}, []result.Chunk{{Path: "a.md"}}
				q.Retrieval = &result.QuestionRetrieval{Documents: 1, Gold: scorer.Ranking{{Path: "a.md", Gain: 1, Rank: 1}}, Recall: 1, NDCG: 1, ReciprocalRank: 1, AveragePrecision: 1}
			}
		})}}, Unknown, "x has no verdicts on its 2 answers with retrieved passages: evalctl rescore --scorer judge judges them."},
		"no memory": {"needs-no-memory", Spec{Files: []string{save(t, "none", "+---", scenario(result.NoMemory))}}, Shown, "passes 1/4"},
	} {
		t.Run(name, func(t *testing.T) {
			f := only(t, c.claim, c.spec)
			if got := strings.Join(f.Evidence, "\n"); f.Says != c.says || !strings.Contains(got, c.evidence) || f.Command == "" || f.Cannot == "" {
				t.Errorf("%s, want %s with %q:\n%s", f.Says, c.says, c.evidence, got)
			}
		})
	}
	x := save(t, "x", strings.Repeat("+", 20)+strings.Repeat("-", 20), nil)
	one, err := Open(x)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range one.Records[:20] {
		list = append(list, r.ID)
	}
	filetest.Write(t, ids, strings.Join(list, "\n"))
	public, err := dataset.ReadIDs(ids)
	if err != nil {
		t.Fatal(err)
	}
	if f := only(t, "key-in-memory-or-tuned", Spec{Files: []string{x}, Public: public}); f.Says != Shown || !strings.Contains(fmt.Sprint(f.Evidence), "20/20") {
		t.Errorf("tuned: %+v", f)
	}
	if _, err := Run(Spec{Files: []string{save(t, "y", "+", nil)}, Public: public}); err == nil || !strings.Contains(err.Error(), "--public") {
		t.Errorf("ids of other questions: %v", err)
	}
}
