package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
	sweepfile "evalctl/harness/sweep"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// sweepOf writes a sweep file of two cells.
func sweepOf(tb testing.TB) string {
	tb.Helper()
	s := result.Sweep{SchemaVersion: 1, SDK: "go", StartedAt: began, Planned: 2}
	for _, mode := range []string{"auto", "bm25"} {
		res, questions := records(tb, runFile(tb, 12, 0, scorer.Retrieval{TopK: 2}))
		res.Gate, res.Identity.Mode = nil, mode
		cell := result.Cell{Mode: mode, TopK: 2, Result: res}
		for _, q := range questions {
			cell.Questions = append(cell.Questions, q.WithoutTexts())
		}
		s.Cells = append(s.Cells, cell)
	}
	file := sweepfile.NewFile(tb.TempDir(), "go", began)
	if err := file.Finish(&s, nil); err != nil {
		tb.Fatal(err)
	}
	return file.Path()
}

// TestSweep changes values of a cell, one at a time, and checks that each change is named,
// unless the value does not follow from the questions.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	path := sweepOf(t)
	if rep := verified(t, path); !rep.OK || rep.Cells != 2 || rep.Questions != 24 || rep.Figures < 400 {
		t.Fatalf("%d figures of %d questions, %+v", rep.Figures, rep.Questions, rep.Differences)
	}
	data := filetest.Read(t, path)
	whole := mustDecode(t, data).(map[string]any)
	cell := whole["cells"].([]any)[1].(map[string]any)
	changed := filepath.Join(t.TempDir(), "go.sweep.json")
	n := 0
	mutants("", cell, nil, func(at string) {
		head, inHead := strings.CutPrefix(at, ".result")
		if inHead && (!follows(head) || head == ".retrieval.depth" || head == ".brains") {
			return
		}
		if n++; n%3 != 0 {
			return // each costs a bootstrap, and TestEveryFigure tries all of them
		}
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
		for _, d := range rep.Differences {
			full := ".cells[1]" + at
			if strings.HasPrefix(d.Path, full) || strings.HasPrefix(full, d.Path) && d.Path != "." {
				return
			}
		}
		t.Errorf("a change of %s is not named: %+v", at, rep.Differences)
	})
	if n < 150 {
		t.Errorf("only %d changes", n)
	}
}
