package verify

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

// sweep is a sweep file with undecoded results.
type sweep struct {
	SDK     string          `json:"sdk"`
	Stopped result.Stop     `json:"stopped"`
	Planned int             `json:"planned"`
	Cost    result.Spending `json:"cost"`
	Cells   []cell          `json:"cells"`
}

// cell is a cell of a sweep file.
type cell struct {
	Mode       string            `json:"mode"`
	TopK       int               `json:"top_k"`
	CandidateK int               `json:"candidate_k"`
	Result     json.RawMessage   `json:"result"`
	Questions  []json.RawMessage `json:"questions"`
}

// texts yields the text of each question, like result.Reader.
func (c cell) texts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, text := range c.Questions {
			if !yield(text, nil) {
				return
			}
		}
	}
}

// sweepFile verifies each cell of a sweep file like a result file.
func sweepFile(path string) (*Report, error) {
	data, err := inputfile.Read(path, inputfile.Large)
	if err != nil {
		return nil, fmt.Errorf("open sweep: %w", err)
	}
	v, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	rep := &Report{Path: path, Kind: "sweep", NotChecked: []string{}}
	violations(compiled().sweep, withoutQuestions(v), func(path, problem string) {
		rep.add(Difference{Path: orRoot(path), Problem: problem})
	})
	var s sweep
	if err := json.Unmarshal(data, &s); err != nil {
		if rep.Found == 0 {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		return rep.finish(), nil
	}
	if s.Cost.Parts != nil && s.Cost.TotalUSD != nil {
		spending(&s.Cost, path, rep)
	}
	rep.Cells = len(s.Cells)
	if s.Stopped == "" && len(s.Cells) != s.Planned {
		rep.add(Difference{Path: ".cells", Problem: fmt.Sprintf(
			"it has %d cells, and the sweep planned %d", len(s.Cells), s.Planned)})
	}
	for i, c := range s.Cells {
		if err := rep.cell(fmt.Sprintf(".cells[%d]", i), c, s.SDK); err != nil {
			return nil, fmt.Errorf("read %s: .cells[%d]: %w", path, i, err)
		}
	}
	return rep.finish(), nil
}

// withoutQuestions empties a sweep's lists of questions, which are checked separately.
func withoutQuestions(v any) any {
	object, _ := v.(map[string]any)
	cells, _ := object["cells"].([]any)
	for _, c := range cells {
		if c, ok := c.(map[string]any); ok {
			if _, ok := c["questions"].([]any); ok {
				c["questions"] = []any{}
			}
		}
	}
	return v
}

// cell verifies the cell at path.
func (r *Report) cell(path string, c cell, sdk string) error {
	var res result.Result
	var members map[string]json.RawMessage
	err := json.Unmarshal(c.Result, &members)
	if err == nil {
		err = json.Unmarshal(c.Result, &res)
	}
	if err != nil {
		if r.Found > 0 {
			return nil // the schema has said so
		}
		return err
	}
	r.same(path+".mode", c.Mode, res.Identity.Mode)
	r.same(path+".top_k", c.TopK, res.Identity.TopK)
	r.same(path+".candidate_k", c.CandidateK, res.Identity.CandidateK)
	r.same(path+".result.sdk", res.SDK, sdk)
	part := &Report{Path: r.Path, Kind: r.Kind}
	f := newFigures(&res)
	if err := f.add(c.texts(), &res, part); err != nil {
		return err
	}
	want := f.recompute(&res, part)
	want.Gate = nil // sweeps have no floor
	if err := part.compare(members, want, f.follows); err != nil {
		return err
	}
	part.order()
	r.addCell(path, part)
	r.leaveOut(f.notChecked(&res)...)
	return nil
}

// addCell adds the findings for the cell at path.
func (r *Report) addCell(path string, part *Report) {
	r.Figures += part.Figures
	r.Questions += part.Questions
	for _, d := range part.Differences {
		if !strings.HasPrefix(d.Path, ".questions") {
			d.Path = ".result" + d.Path
		}
		d.Path = path + d.Path
		r.add(d)
	}
	r.Found += part.Found - len(part.Differences)
}

// leaveOut adds to NotChecked.
func (r *Report) leaveOut(what ...string) {
	for _, w := range what {
		if !slices.Contains(r.NotChecked, w) {
			r.NotChecked = append(r.NotChecked, w)
		}
	}
}

// same compares a value with the recomputed one.
func (r *Report) same(path string, file, want any) {
	f, err := decode([]byte(text(file)))
	w, err2 := decode([]byte(text(want)))
	if err != nil || err2 != nil {
		return
	}
	walk(path, f, w, func(path string, file, want any, same bool) {
		if r.Figures++; !same {
			r.add(Difference{Path: path, InFile: leaf(file), Recomputed: leaf(want)})
		}
	})
}
