package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"evalctl/internal/figure"
	"evalctl/internal/terminal"
	"evalctl/replay/queue"
)

// Handler prepares for the runs of a queue. It implements queue.Handler.
type Handler struct {
	// Plan returns the plan of a run, from the flags with which it was begun.
	Plan func(ctx context.Context, flags map[string]any) (*Plan, error)
	// Print prints a line, and may be called concurrently.
	Print func(name, format string, args ...any)
}

// Notice implements queue.Handler.
func (h *Handler) Notice(text string) { h.Print("warning", "%s", terminal.Line(text)) }

// Begin implements queue.Handler.
func (h *Handler) Begin(ctx context.Context, j queue.Job) (_ queue.Worker, err error) {
	flags := map[string]any{}
	if err := json.Unmarshal(j.Options, &flags); err != nil {
		return nil, fmt.Errorf("its flags are those of another version of evalctl: %w", err)
	}
	plan, err := h.Plan(ctx, flags)
	if err != nil {
		return nil, err
	}
	w := &runWorker{plan: plan}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := CheckFolder(plan.Cache.Dir); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "evalctl-worker-*"); err != nil {
		return nil, err
	}
	if w.Worker, err = plan.NewWorker(j.Books, w.dir); err != nil {
		return nil, err
	}
	h.Print("run", "%s  %s  %s  %s", j.ID, terminal.Line(plan.Benchmark.Path),
		figure.Count(len(plan.Questions), "question"), figure.Count(len(plan.Arms), "arm"))
	return w, nil
}

// runWorker works for one run.
type runWorker struct {
	*Worker
	plan *Plan
	dir  string
}

// Close stops the daemons, and removes their logs.
func (w *runWorker) Close() error {
	var errs []error
	if w.Worker != nil {
		errs = append(errs, w.Worker.Close())
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(append(errs, w.plan.Close())...)
}
