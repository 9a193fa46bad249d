package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// sweepFile verifies a sweep file. It has no questions, so that only figures which follow from
// other figures are compared.
func sweepFile(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open sweep: %w", err)
	}
	v, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	rep := &Report{Path: path, Kind: "sweep", NotChecked: []string{
		"everything but the counts, rates and intervals of the cells: a sweep file has no questions",
	}}
	violations(compiled().sweep, "", v, func(path, problem string) {
		rep.add(Difference{Path: orRoot(path), Problem: problem})
	})
	var s result.Sweep
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&s); err != nil {
		if rep.Found == 0 {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		rep.finish()
		return rep, nil
	}
	rep.Cells = len(s.Cells)
	if s.Stopped == "" && len(s.Cells) != s.Planned {
		rep.add(Difference{Path: ".cells", Problem: fmt.Sprintf(
			"it has %d cells, and the sweep planned %d", len(s.Cells), s.Planned)})
	}
	for i, c := range s.Cells {
		rep.cell(fmt.Sprintf(".cells[%d]", i), c, s)
	}
	rep.finish()
	return rep, nil
}

// cell compares the figures of a cell with its counts and its identity.
func (r *Report) cell(path string, c result.Cell, s result.Sweep) {
	res, id := c.Result, c.Result.Identity
	r.same(path+".mode", c.Mode, id.Mode)
	r.same(path+".top_k", c.TopK, id.TopK)
	r.same(path+".candidate_k", c.CandidateK, id.CandidateK)
	path += ".result"
	n := res.Counts
	r.same(path+".sdk", res.SDK, s.SDK)
	r.same(path+".identity.sdk", id.SDK, s.SDK)
	r.same(path+".scorer", res.ScorerName, id.Scorer)
	r.same(path+".planned", res.Planned, id.Dataset.Selected)
	r.same(path+".total", res.Total, n.Total)
	r.same(path+".passed", res.Passed, n.Passed)
	r.same(path+".pass_rate", res.PassRate, n.PassRate())
	r.same(path+".pass_rate_interval", res.Interval, aggregate.PassInterval(n))
	r.counts(path+".counts", n)
	if res.Stopped == "" {
		r.same(path+".planned", res.Planned, n.Finished())
	}
	for tag, f := range res.Tags {
		at := path + ".tags" + step(tag)
		r.counts(at, f.Counts)
		r.same(at+".pass_rate", f.PassRate, f.Counts.PassRate())
		r.same(at+".pass_rate_interval", f.Interval, aggregate.PassInterval(f.Counts))
		if f.Total > n.Total {
			r.add(Difference{Path: at + ".total", InFile: text(f.Total), Problem: "the cell has fewer questions"})
		}
	}
}

// counts checks that the parts add up.
func (r *Report) counts(path string, n result.Counts) {
	r.same(path+".total", n.Total, n.Scored+n.Errors+n.Unscored)
	if n.Passed > n.Scored {
		r.add(Difference{Path: path + ".passed", InFile: text(n.Passed), Problem: "fewer questions were scored"})
	}
}

// same compares a value of the file with the recomputed one.
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
