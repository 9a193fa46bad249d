package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// baselineFile returns a result file with a comparison with another one, whose path it returns too.
func baselineFile(tb testing.TB) (path, base string) {
	tb.Helper()
	base = runFile(tb, 15, 0, scorer.Exact{})
	r, err := resultfile.OpenUnchecked(base)
	if err != nil {
		tb.Fatal(err)
	}
	sum256, err := r.SHA256()
	r.Close()
	if err != nil {
		tb.Fatal(err)
	}
	res, questions := records(tb, base)
	b := &aggregate.Baseline{
		Path: base, SHA256: sum256, SDK: "go", Differs: []string{}, Margin: 0.25,
		Passed: map[string]bool{}, Unscored: map[string]bool{},
	}
	sum := aggregate.New(2)
	sum.Compare(b)
	broken := 0
	for i := range questions {
		b.Add(questions[i])
		if q := &questions[i]; q.Passed && broken < 1 {
			q.Passed, *q.Score, q.Answer = false, 0, "wrong"
			broken++
		}
	}
	for _, q := range questions {
		sum.Add(q)
	}
	sum.Fill(&res)
	sum.Judge(&res)
	return write(tb, res, questions), base
}

// TestBaseline checks that every edited figure of a comparison with a baseline is named, and
// without the baseline those that follow from the pairs.
func TestBaseline(t *testing.T) {
	path, base := baselineFile(t)
	data := filetest.Read(t, path)
	whole := mustDecode(t, data).(map[string]any)
	gate := whole["gate"].(map[string]any)["baseline"].(map[string]any)
	changed := filepath.Join(t.TempDir(), "go.json")
	for _, atHand := range []bool{true, false} {
		if !atHand {
			if err := os.Remove(base); err != nil {
				t.Fatal(err)
			}
		}
		rep := verified(t, path)
		said := slices.ContainsFunc(rep.NotChecked, func(s string) bool { return strings.HasPrefix(s, "which questions the baseline passed: ") })
		if !rep.OK || said == atHand {
			t.Errorf("baseline at hand: %v, %+v", atHand, rep)
		}
		tried := 0
		mutants("", gate, nil, func(at string) {
			field := strings.FieldsFunc(at, func(r rune) bool { return r == '.' || r == '[' })[0]
			if slices.Contains([]string{"path", "sha256", "margin"}, field) ||
				!atHand && !slices.Contains(pairFigures, field) {
				return
			}
			tried++
			data, err := json.Marshal(whole)
			if err == nil {
				err = os.WriteFile(changed, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			rep, err := File(changed)
			if err != nil {
				return // it says where
			}
			if !slices.ContainsFunc(rep.Differences, func(d Difference) bool {
				full := ".gate.baseline" + at
				return strings.HasPrefix(d.Path, full) || strings.HasPrefix(full, d.Path) && d.Path != ".gate"
			}) {
				t.Errorf("baseline at hand: %v: a change of %s is not named: %+v", atHand, at, rep.Differences)
			}
		})
		if tried < 8 {
			t.Errorf("only %d changes", tried)
		}
	}
}
