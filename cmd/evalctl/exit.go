package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"evalctl/harness"
	"evalctl/internal/llm"
)

// The exit codes. Nothing but main ends the process.
const (
	exitDone        = 0
	exitBelowFloor  = 1
	exitUsage       = 2
	exitBudget      = 3
	exitDaemon      = 4
	exitUnscored    = 5
	exitInterrupted = 130
)

var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "done, at or above the floor"},
	{exitBelowFloor, "done, below the floor; for conformance, a MUST failed"},
	{exitUsage, "usage or configuration"},
	{exitBudget, "the budget was reached; the result is partial"},
	{exitDaemon, "the daemon could not be started or used, died, ran another mode than required, or answered nothing"},
	{exitUnscored, "more errors and unscored questions than allowed"},
	{exitInterrupted, "interrupted; --resume goes on"},
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	return b.String()
}

// usageError is a command line or configuration that cannot be used.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// daemonError is a daemon that cannot be evaluated.
type daemonError struct{ error }

func (e daemonError) Unwrap() error { return e.error }

// unscoredError is a finished run of which too much has no score.
type unscoredError struct{ error }

// brokenPromiseError is a daemon that breaks what every daemon must keep.
type brokenPromiseError struct{ failed, judged int }

func (e *brokenPromiseError) Error() string {
	return fmt.Sprintf("%d of %d checks of level MUST failed", e.failed, e.judged)
}

// belowFloorError is a finished run whose report has said everything.
type belowFloorError struct{ passed, required, total int }

func (e *belowFloorError) Error() string {
	return fmt.Sprintf("%d of %d passed, the floor needs %d", e.passed, e.total, e.required)
}

// exitCode maps what a command returned to the process's exit code.
func exitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, llm.ErrBudgetExceeded):
		return exitBudget
	case errors.As(err, new(daemonError)), errors.Is(err, harness.ErrDaemonDied), errors.Is(err, harness.ErrMode):
		return exitDaemon
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, new(unscoredError)):
		return exitUnscored
	case errors.As(err, new(*belowFloorError)), errors.As(err, new(*brokenPromiseError)):
		return exitBelowFloor
	default:
		return exitUsage
	}
}
