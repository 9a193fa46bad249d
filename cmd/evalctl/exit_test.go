package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"evalctl/harness"
	"evalctl/harness/bench"
	"evalctl/harness/conformance"
	"evalctl/harness/judging"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/signing"
	"evalctl/harness/sweep"
	"evalctl/internal/llm"
)

// TestExitCodes checks which errors have which code, and that the help's table has no other code.
func TestExitCodes(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	verdict := func(g result.Gate, cause error) error { return &verdictError{gate: g, cause: cause} }
	tests := []struct {
		err  error
		code int
	}{
		{nil, exitDone},
		{belowError{errors.New("worse")}, exitBelowFloor},
		{&conformance.BrokenError{}, exitBelowFloor},
		{&judging.BelowError{}, exitBelowFloor},
		{&signing.FailedError{}, exitBelowFloor},
		{&bench.FailedError{}, exitBelowFloor},
		{verdict(result.Gate{Reason: result.ReasonFloor}, nil), exitBelowFloor},
		{errors.New("unknown flag"), exitUsage},
		{&fs.PathError{Op: "open", Path: "q.jsonl", Err: fs.ErrNotExist}, exitUsage},
		{harness.ErrHome, exitUsage},
		{&harness.SystematicError{Judge: true}, exitUsage},
		{llm.ErrBudgetExceeded, exitBudget},
		{daemonError{errors.New("refused")}, exitDaemon},
		{harness.ErrDaemonDied, exitDaemon},
		{sweep.ErrNoAnswers, exitDaemon},
		{bench.ErrNoAnswers, exitDaemon},
		{&harness.SystematicError{}, exitDaemon},
		{sweep.ErrLost, exitUnscored},
		{&judging.BelowError{Uncertain: true}, exitUnscored},
		{key.ErrIncomparable, exitDifferent},
		{verdict(result.Gate{Reason: result.ReasonControls}, nil), exitControls},
		{syscall.ENOSPC, exitStorage},
		{daemonError{syscall.ENOSPC}, exitStorage},
		{fs.ErrPermission, exitStorage},
		{daemonError{fs.ErrPermission}, exitDaemon},
		{verdict(result.Gate{Stopped: result.StopInterrupted}, context.Canceled), exitInterrupted},
	}
	reached := map[int]bool{}
	for _, tt := range tests {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("run: %w", err)
		}
		if got := exitCode(t.Context(), err); got != tt.code {
			t.Errorf("exit code of %v is %d, want %d", tt.err, got, tt.code)
		}
		reached[tt.code] = true
	}
	if got := exitCode(canceled, errors.New("read: context canceled")); got != exitInterrupted {
		t.Errorf("exit code of an interrupted command is %d, want %d", got, exitInterrupted)
	}
	if got := exitCode(canceled, llm.ErrBudgetExceeded); got != exitBudget {
		t.Errorf("exit code of a command interrupted after its budget is %d, want %d", got, exitBudget)
	}
	for _, e := range exitMeanings {
		if !reached[e.code] {
			t.Errorf("the table has code %d, which no error here has", e.code)
		}
		delete(reached, e.code)
	}
	for code := range reached {
		t.Errorf("code %d is not in the table of the help", code)
	}
}

// TestWorstOf checks that several targets end with a failure if any of them does, whatever its
// code, and that every code has a rank.
func TestWorstOf(t *testing.T) {
	for _, e := range exitMeanings {
		if !slices.Contains(severity, e.code) {
			t.Errorf("code %d has no rank", e.code)
		}
	}
	below, usage := belowError{errors.New("worse")}, errors.New("unknown flag")
	for _, tt := range []struct {
		ended []error
		want  error
	}{
		{[]error{nil, nil}, nil},
		{[]error{nil, key.ErrIncomparable}, key.ErrIncomparable},
		{[]error{below, key.ErrIncomparable, nil}, key.ErrIncomparable},
		{[]error{key.ErrIncomparable, usage}, usage},
	} {
		if got := worstOf(t.Context(), tt.ended); !errors.Is(got, tt.want) {
			t.Errorf("the worst of %v is %v, want %v", tt.ended, got, tt.want)
		}
	}
}
