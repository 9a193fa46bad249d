package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evalctl/internal/atomicfile"
)

// Sweep is a sweep file: one set of questions, asked of one filled daemon with
// every setting of a grid.
type Sweep struct {
	SchemaVersion int       `json:"schema_version"`
	SDK           string    `json:"sdk"`
	StartedAt     time.Time `json:"started_at"`
	FinishedAt    time.Time `json:"finished_at"`
	// Stopped is why the sweep ended before its last cell; Planned counts the
	// cells of the grid.
	Stopped Stop `json:"stopped"`
	Planned int  `json:"planned"`
	// WarmUp counts the questions that were asked before, and not measured.
	WarmUp int    `json:"warm_up"`
	Cells  []Cell `json:"cells"`

	written bool
}

// Cell is one finished cell of the grid. Result is what a result file says, but
// for its questions.
type Cell struct {
	Mode       string `json:"mode"`
	TopK       int    `json:"top_k"`
	CandidateK int    `json:"candidate_k"`
	Result     Result `json:"result"`
}

// RunCell is Run without a trace in dir, which was claimed: no journal is kept and
// no file written. What a killed process leaves of a cell, the next one removes. The
// result of a cell that ended early comes with the error that ended it.
func RunCell(ctx context.Context, dir string, cfg Config, id Identity) (res Result, err error) {
	dir = filepath.Join(dir, "."+id.SDK+".cell")
	if err := os.RemoveAll(dir); err != nil {
		return Result{}, fmt.Errorf("remove what an earlier sweep left: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.Journal, err = CreateJournal(dir, id, time.Now().UTC(), nil); err != nil {
		return Result{}, err
	}
	defer cfg.Journal.Close()
	res, _, err = Run(ctx, cfg)
	return res, err
}

// warmUps is how many questions WarmUp asks, and the first of every brain.
const warmUps = 20

// WarmUp asks the first questions of d, and the first of every brain, so that
// indexes are built and connections open before anything is measured. It counts
// them. A question that fails here will fail again where it counts.
func (t *Target) WarmUp(ctx context.Context, d Dataset, timeout time.Duration) (asked int, err error) {
	warm := map[string]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return asked, err
		}
		if asked >= warmUps && warm[q.Brain] {
			continue
		}
		warm[q.Brain] = true
		asked++
		if _, err := t.Ask(ctx, q, timeout); err != nil && ctx.Err() != nil {
			return asked, context.Cause(ctx)
		}
	}
	return asked, nil
}

// Stop notes why the sweep ended early; nil when it did not.
func (s *Sweep) Stop(err error) { s.Stopped = stopReason(err) }

// Save writes the finished cells of a sweep that goes on: should the process be
// killed, the file says that it was interrupted.
func (s *Sweep) Save(dir string) error {
	s.Stopped, s.FinishedAt = StopInterrupted, time.Now().UTC()
	_, err := s.Write(dir)
	return err
}

// Write makes <dir>/<sdk>.sweep.json, whole or not at all, and tells its path.
// The file of an earlier sweep is kept aside, that of this one replaced.
func (s *Sweep) Write(dir string) (string, error) {
	path := filepath.Join(dir, s.SDK+".sweep.json")
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		write := atomicfile.WriteNew
		if s.written {
			write = atomicfile.Write
		}
		err = write(path, 0o644, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n", data)
			return err
		})
	}
	if err != nil {
		return "", fmt.Errorf("write sweep %s: %w", path, err)
	}
	s.written = true
	return path, nil
}
