package history

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// file is the content of a JSON file. entry is nil unless it is a measurement.
type file struct {
	kind  Kind
	entry *Entry
	err   error // of a file that should be a result and cannot be read
	gone  bool
}

// readFile reads a JSON file without its questions.
func readFile(path string) file {
	if resultfile.KindOf(path) == resultfile.Bench {
		f, err := record.Outline(path)
		if err != nil {
			return file{err: err}
		}
		return file{kind: Bench, entry: benchEntry(path, f)}
	}
	r, err := resultfile.Open(path)
	if err == nil {
		res := r.Result()
		e := newEntry(path, &res)
		return file{kind: e.Kind, entry: e, err: r.Close()}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return file{gone: true}
	}
	k := readKeys(path)
	switch {
	case k.Cells && k.StartedAt.IsZero():
		return file{err: err}
	case k.Cells:
		return file{kind: Sweep, entry: &Entry{
			Kind: Sweep, Name: k.SDK, Path: path, StartedAt: k.StartedAt, FinishedAt: k.FinishedAt, Stopped: k.Stopped,
		}}
	case k.isResult():
		return file{err: err}
	case k.Results && k.Endpoint:
		return file{kind: Conformance}
	}
	return file{kind: Other}
}

// keys are the top-level keys of a JSON file that identify its kind.
type keys struct {
	SDK                   string
	StartedAt, FinishedAt time.Time
	Stopped               result.Stop
	Cells                 bool // of a sweep
	Results, Endpoint     bool // of a report of conformance
	Identity, Questions   bool // of a result
	broken                bool // it is not JSON
}

// isResult reports whether a file should be a result. A file that is not JSON may have been one.
func (k keys) isResult() bool { return k.Identity || k.Questions || k.broken }

// readKeys reads the top level of a JSON file.
func readKeys(path string) (k keys) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return keys{broken: true}
	}
	defer f.Close()
	stream := jsonstream.New(f, 0)
	if c, err := stream.Peek(); err != nil || c != '{' {
		return keys{broken: err != nil || c != '['}
	}
	err = stream.Members(func(key string) error {
		var to any
		switch key {
		case "sdk":
			to = &k.SDK
		case "started_at":
			to = &k.StartedAt
		case "finished_at":
			to = &k.FinishedAt
		case "stopped":
			to = &k.Stopped
		case "cells":
			k.Cells = true
		case "results":
			k.Results = true
		case "endpoint":
			k.Endpoint = true
		case "identity":
			k.Identity = true
		case "questions":
			k.Questions = true
		}
		if to == nil {
			return stream.Skip()
		}
		text, err := stream.Value()
		if err == nil {
			_ = json.Unmarshal(text, to) // a value of another type is ignored
		}
		return err
	})
	k.broken = err != nil
	return k
}
