package judging

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/scorer"
)

// given saves a result with imported verdicts: + passed, - failed, ? unusable and _ none.
func given(t *testing.T, judge, outcomes string, changes ...func(*resulttest.File)) string {
	t.Helper()
	f := resulttest.New("x", time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), outcomes)
	for i, o := range outcomes {
		if o == '_' {
			f.Questions[i].Outcome, f.Questions[i].Score = result.Unjudged, nil
		}
	}
	f.Identity.Scorer, f.ScorerName = scorer.Imported, scorer.Imported
	f.Identity.Imported = &result.ImportedID{Formats: []string{"zep"}, JudgeID: judge}
	for _, change := range changes {
		change(f)
	}
	f.Fill()
	return f.Save(t, t.TempDir(), "x.json")
}

// TestCheckGiven corrects a headline of 37 of 40 by a judge that fails 3 of 8 wrong answers.
func TestCheckGiven(t *testing.T) {
	of := given(t, "j", strings.Repeat("+", 37)+"---")
	c, note, err := CheckGiven(given(t, "j", "+++++---"), of)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	if got := fmt.Sprintf("%.3f %.3f", c.Specificity.Rate, c.Correction.Corrected.Rate); got != "0.375 0.800" || c.Sensitivity != nil || !c.Correction.Least {
		t.Errorf("specificity and least rate %s: %+v", got, c.Correction)
	}
	if c, _, err = CheckGiven(given(t, "j", "-"), given(t, "j", "++++++++++")); err != nil || c.Correction.Corrected.Interval.High != 1 ||
		!strings.HasPrefix(c.Correction.Few, "few wrong answers are known (1 independent)") {
		t.Errorf("one wrong answer: %+v, %v", c, err)
	}
	if _, _, err = CheckGiven(of, of); err == nil || !strings.Contains(err.Error(), "are the same file") {
		t.Errorf("the result itself as wrong answers: %v", err)
	}
	if _, note, err = CheckGiven(given(t, "", "+-"), of); err != nil || !strings.Contains(note, "--judge-id") {
		t.Errorf("an unknown judge: %q, %v", note, err)
	}
	if _, _, err = CheckGiven(given(t, "other", "+-"), of); err == nil || !strings.Contains(err.Error(), "the errors of one judge") {
		t.Errorf("another judge: %v", err)
	}
	if c, _, err = CheckGiven(given(t, "j", "++"), of); err != nil || c.Correction.Corrected != nil {
		t.Errorf("a judge that passes all: %+v, %v", c, err)
	}
	own := resulttest.New("own", time.Now(), "+-")
	own.Fill()
	if _, _, err = CheckGiven(own.Save(t, t.TempDir(), "own.json"), of); err == nil || !strings.Contains(err.Error(), "and not imported") {
		t.Errorf("verdicts of our own: %v", err)
	}
}

// TestGivenWrongInClusters: wrong answers in clusters, or that were judged several times, say
// less of a judge than as many independent ones.
func TestGivenWrongInClusters(t *testing.T) {
	of := given(t, "j", strings.Repeat("+", 370)+strings.Repeat("-", 30))
	wrong := strings.Repeat("++++++++--------------------------------", 5)
	check := func(outcomes string, changes ...func(*resulttest.File)) *Check {
		c, _, err := CheckGiven(given(t, "j", outcomes, changes...), of)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	width := func(r *Rate) float64 { return r.Interval.High - r.Interval.Low }
	plain := check(wrong)
	for name, change := range map[string]func(*resulttest.File){"conversations": conversations(8), "repeats": repeats(4)} {
		c := check(wrong, change)
		if c.Specificity.Rate != plain.Specificity.Rate || width(c.Specificity) < 1.5*width(plain.Specificity) || c.Specificity.Interval.Method != "clustered_t" {
			t.Errorf("%s: specificity %s, of independent answers %s", name, c.Specificity, plain.Specificity)
		}
		if got, want := c.Correction.Corrected, plain.Correction.Corrected; got == nil || got.Interval.Low >= want.Interval.Low {
			t.Errorf("%s: corrected %s, with independent answers %s", name, got, want)
		}
	}
	one := check(wrong, conversations(1000))
	if one.Correction.Corrected != nil || !strings.Contains(one.Correction.Impossible, "wrong on purpose do not show") {
		t.Errorf("one conversation: %+v", one.Correction)
	}
	if got := check("--------", conversations(4)).Specificity.Interval; got.High != 1 || got.Low > 0.4 {
		t.Errorf("two conversations that all fail: %+v", got)
	}
}

// TestGivenWithoutVerdicts: a minimum of 2 of 3 is met by the verdicts, but not for certain while
// answers have none.
func TestGivenWithoutVerdicts(t *testing.T) {
	of := given(t, "j", "+++-")
	for outcomes, want := range map[string]string{
		"+--":    "",
		"+--?":   "1 answer without a verdict may be misjudged",
		"+--_?":  "2 answers without a verdict may be misjudged",
		"---_":   "",
		"++-_":   "is below --min-specificity",
		"----ee": "",
	} {
		c, note, err := CheckGiven(given(t, "j", outcomes), of)
		if err != nil {
			t.Fatal(err)
		}
		if missing := strings.ContainsAny(outcomes, "?_"); missing != strings.Contains(note, "without a verdict") {
			t.Errorf("%s: note %q", outcomes, note)
		}
		err = Minimum{Specificity: new(2. / 3)}.Reached(&c.Accuracy)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", outcomes, err, want)
		}
	}
}
