package verify

import (
	"encoding/json"
	"fmt"

	"evalctl/harness/bench/record"
	"evalctl/internal/inputfile"
)

// benchFile verifies a bench file by computing every figure again from its blocks.
func benchFile(path string) (*Report, error) {
	f, err := record.Read(path)
	if err != nil {
		return nil, err
	}
	data, err := inputfile.Read(path, inputfile.Large)
	if err != nil {
		return nil, fmt.Errorf("open bench: %w", err)
	}
	v, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	rep := &Report{Path: path, Kind: record.Kind, NotChecked: []string{"the measurements: the blocks and their histograms"}}
	violations(compiled().bench, v, func(path, problem string) {
		rep.add(Difference{Path: orRoot(path), Problem: problem})
	})
	if f.Cost.Parts != nil && f.Cost.TotalUSD != nil {
		spending(&f.Cost, path, rep)
	}
	if f.Baseline != nil {
		rep.leaveOut("that the blocks of the baseline come from " + f.Baseline.Path + " with the SHA-256 " + f.Baseline.SHA256)
		for i, b := range f.Baseline.Blocks {
			rep.block(fmt.Sprintf(".baseline.blocks[%d]", i), b)
		}
	}
	for i, b := range f.Blocks {
		rep.block(fmt.Sprintf(".blocks[%d]", i), b)
	}
	for i, p := range f.Probes {
		rep.block(fmt.Sprintf(".probes[%d].block", i), p.Block)
	}
	again, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	want, err := decode(again)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	file, _ := v.(map[string]any)
	computed, _ := want.(map[string]any)
	for _, key := range []string{"probes", "summaries", "comparisons", "growth", "limits", "verdicts", "baseline"} {
		walk("."+key, member(file, key), member(computed, key), func(path string, file, want any, same bool) {
			if rep.Figures++; !same {
				rep.add(Difference{Path: path, InFile: leaf(file), Recomputed: leaf(want)})
			}
		})
	}
	rep.Blocks = len(f.Blocks) + len(f.Probes)
	return rep.finish(), nil
}

// block checks that a block's counts agree with each other and with its histograms.
func (r *Report) block(path string, b record.Block) {
	for i, o := range b.Ops {
		failed := int64(0)
		for _, n := range o.Errors {
			failed += n
		}
		r.Figures += 3
		add, at := reporter(r.add), fmt.Sprintf("%s.ops[%d]", path, i)
		if o.Offered != o.OK+failed+o.Dropped {
			add.differ(at+".offered", o.Offered, o.OK+failed+o.Dropped)
		}
		if o.Latency.N() != o.OK {
			add(Difference{Path: at + ".latency", Problem: fmt.Sprintf("it has %d values, and %d requests succeeded", o.Latency.N(), o.OK)})
		}
	}
}
