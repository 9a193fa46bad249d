package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
func (h *Handler) Begin(ctx context.Context, j queue.Job) (queue.Worker, error) {
	flags := map[string]any{}
	if err := json.Unmarshal(j.Options, &flags); err != nil {
		return nil, fmt.Errorf("its flags are those of another version of evalctl: %w", err)
	}
	plan, err := h.Plan(ctx, flags)
	if err != nil {
		return nil, err
	}
	w, err := plan.newWorker(j.Books)
	if err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	h.Print("run", "%s  %s  %s  %s", j.ID, terminal.Line(plan.Benchmark.Path),
		figure.Count(len(plan.Questions), "question"), figure.Count(len(plan.Arms), "arm"))
	return w, nil
}
