package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// maxFile limits the size of a file. A bench takes a few MiB.
const maxFile = 1 << 30

// Read reads a bench file and computes its figures again.
func Read(path string) (*File, error) {
	if resultfile.KindOf(path) != resultfile.Bench {
		if err := resultfile.Unexpected(path, "the file of a bench"); err != nil {
			return nil, err
		}
	}
	data, err := inputfile.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("open bench: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read bench %s: %w", path, err)
	}
	f.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	return f, nil
}

// Outline reads a bench file without its blocks and probes. Its figures are taken from the file as
// they are.
func Outline(path string) (*File, error) {
	data, err := inputfile.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("open bench: %w", err)
	}
	var f struct {
		File
		Blocks   json.RawMessage `json:"blocks"` // shadows File.Blocks, which is large
		Probes   json.RawMessage `json:"probes"`
		Baseline json.RawMessage `json:"baseline"`
	}
	if err = json.Unmarshal(data, &f); err == nil {
		err = f.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read bench %s: %w", path, err)
	}
	return &f.File, nil
}

// Parse parses the content of a bench file and computes its figures again.
func Parse(data []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Kind != Kind {
		return nil, fmt.Errorf("this is not a bench file: its kind is %q", f.Kind)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.Compute()
	return &f, nil
}

// maxRounds is the maximum number of blocks for a target, stage and size.
const maxRounds = 10_000

// check returns an error for a file whose parts contradict each other.
func (f *File) check() error {
	inTargets := func(i int) bool { return i >= 0 && i < len(f.Targets) }
	blocks := f.Blocks
	if f.Baseline != nil {
		blocks = slices.Concat(blocks, f.Baseline.Blocks)
	}
	if f.Plan.Rounds < 0 || f.Plan.Rounds > maxRounds {
		return fmt.Errorf("the plan has %d rounds", f.Plan.Rounds)
	}
	for i, b := range blocks {
		if !inTargets(b.Target) || b.Stage < 0 || b.Stage >= len(f.Plan.Stages) || b.Seconds <= 0 {
			return fmt.Errorf("block %d lacks a valid target, stage or duration", i)
		}
	}
	if f.Version != Version {
		return fmt.Errorf("its schema version is %d, and this program knows %d", f.Version, Version)
	}
	if len(f.Plan.Stages) == 0 || len(f.Plan.Sizes) == 0 {
		return fmt.Errorf("the plan has no stage or no size")
	}
	for i, s := range f.Summaries {
		if !inTargets(s.Target) || s.Stage < 0 || s.Stage >= len(f.Plan.Stages) {
			return fmt.Errorf("summary %d lacks a valid target or stage", i)
		}
		for _, o := range s.Ops {
			if o.Rate == nil {
				return fmt.Errorf("summary %d has no rate", i)
			}
		}
	}
	for i, l := range f.Limits {
		if !inTargets(l.Target) {
			return fmt.Errorf("limit %d lacks a valid target", i)
		}
	}
	for i, x := range f.Fills {
		if !inTargets(x.Target) {
			return fmt.Errorf("fill %d lacks a valid target", i)
		}
	}
	for i, x := range f.Faults {
		if !inTargets(x.Target) {
			return fmt.Errorf("fault %d lacks a valid target", i)
		}
	}
	for i, x := range f.Probes {
		if !inTargets(x.Target) || x.Block.Seconds <= 0 {
			return fmt.Errorf("probe %d lacks a valid target or duration", i)
		}
	}
	for _, text := range []string{f.Plan.Objectives, f.Plan.Search} {
		if text != "" {
			if _, err := ParseObjectives(text); err != nil {
				return err
			}
		}
	}
	return nil
}
