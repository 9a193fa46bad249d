package record

import (
	"encoding/json"
	"fmt"
	"os"

	"evalctl/harness/result"
)

// maxFile limits a file that is read: one of a bench has some MiB.
const maxFile = 1 << 30

// Read reads the file of a bench.
func Read(path string) (*File, error) {
	if result.KindOfFile(path) != result.BenchFile {
		if err := result.Unexpected(path, "the file of a bench"); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open bench: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read bench %s: it has %d bytes, and at most %d are read", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open bench: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read bench %s: %w", path, err)
	}
	return f, nil
}

// Parse reads the content of a file of a bench. Its figures are computed again.
func Parse(data []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Kind != Kind:
		return nil, fmt.Errorf("it is no file of a bench: its kind is %q", f.Kind)
	case f.Version != Version:
		return nil, fmt.Errorf("its schema version is %d, and this program knows %d", f.Version, Version)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.Compute()
	return &f, nil
}

// maxRounds is the number of blocks of a target, stage and size.
const maxRounds = 10_000

// check returns an error for a file whose parts contradict each other.
func (f *File) check() error {
	inTargets := func(i int) bool { return i >= 0 && i < len(f.Targets) }
	if f.Plan.Rounds < 0 || f.Plan.Rounds > maxRounds {
		return fmt.Errorf("the plan has %d rounds", f.Plan.Rounds)
	}
	for i, b := range f.Blocks {
		if !inTargets(b.Target) || b.Stage < 0 || b.Stage >= len(f.Plan.Stages) || b.Seconds <= 0 {
			return fmt.Errorf("block %d is of no target or stage, or has no time", i)
		}
	}
	for i, x := range f.Fills {
		if !inTargets(x.Target) {
			return fmt.Errorf("fill %d is of no target", i)
		}
	}
	for i, x := range f.Faults {
		if !inTargets(x.Target) {
			return fmt.Errorf("fault %d is of no target", i)
		}
	}
	for i, x := range f.Probes {
		if !inTargets(x.Target) || x.Block.Seconds <= 0 {
			return fmt.Errorf("probe %d is of no target, or has no time", i)
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
