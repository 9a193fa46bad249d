package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"evalctl/harness"
	"evalctl/harness/bench"
	"evalctl/harness/conformance"
	"evalctl/harness/judging"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/signing"
	"evalctl/harness/sweep"
	"evalctl/internal/llm"
)

// The exit codes. Only main ends the process.
const (
	exitDone        = 0
	exitBelowFloor  = 1
	exitUsage       = 2
	exitBudget      = 3
	exitDaemon      = 4
	exitUnscored    = 5
	exitDifferent   = 6
	exitControls    = 7
	exitStorage     = 8
	exitInterrupted = 130
)

var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "done, every floor is met"},
	{exitBelowFloor, "done, below a floor, or stopped by --max-failures; for run and compare,\nworse than the baseline or not shown to be not worse, or a forbidden text\ncame back; for conformance, a MUST is broken; for verify, a figure differs;\nfor bench, an objective does not hold, a target is shown to be slower, or a\nwrite is lost; for judge check, below --min-kappa or --min-specificity"},
	{exitUsage, "invalid usage or configuration, an unusable judge, for example because its\nprovider does not answer, or any failure that no other code is for"},
	{exitBudget, "the cap was reached; the result is partial"},
	{exitDaemon, "the daemon did not start, died, was unusable, answered nothing, failed\n8 times in a row in the same way, or ran another mode than required; for\nconformance, too little could be judged; for a replay on a queue, no worker\ntook the questions; a database cannot be reached"},
	{exitUnscored, "more errors or unscored questions than allowed"},
	{exitDifferent, "results that are not comparable: they did not measure the same thing"},
	{exitControls, "too many answers known to be right or wrong were misjudged; the replay is\ninvalid"},
	{exitStorage, "a file or folder cannot be used: the disk is full, fails or is read-only, or\npermission is missing; --resume continues the run"},
	{exitInterrupted, "interrupted; --resume continues the run"},
}

// exitTable returns the table of the exit codes for the help of evalctl.
func exitTable() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, strings.ReplaceAll(e.meaning, "\n", "\n       "))
	}
	return b.String()
}

// exitSummary returns a line of the exit codes.
func exitSummary() string {
	return "Exit codes: 0 passed, 1 below a floor or worse, 2 wrong usage, 3 over the cap, 4 no daemon, 5 too many " +
		"errors, 6 not comparable, 7 controls failed, 8 disk or file, 130 interrupted.\n\nEvery command and exit code in full: evalctl --help=all. About this program: evalctl config, prices, completion, help.\n"
}

// daemonError reports a daemon that cannot be evaluated.
type daemonError struct{ error }

func (e daemonError) Unwrap() error { return e.error }

// belowError reports a measurement below its requirement, such as a run that is
// worse than the baseline.
type belowError struct{ error }

// verdictError reports a run that did not pass. cause is what stopped it, nil if it finished.
type verdictError struct {
	gate  result.Gate
	cause error
}

func (e *verdictError) Error() string {
	if e.cause == nil {
		return e.gate.Sentence
	}
	return fmt.Sprintf("%s: %v", e.gate.Sentence, e.cause)
}

func (e *verdictError) Unwrap() error { return e.cause }

// code returns the exit code of the verdict.
func (e *verdictError) code() int {
	switch e.gate.Reason {
	case result.ReasonFloor, result.ReasonTag, result.ReasonBaseline, result.ReasonLeak:
		return exitBelowFloor
	case result.ReasonNoAnswers, result.ReasonNoQuestions, result.ReasonSuspect:
		return exitDaemon
	case result.ReasonLost:
		return exitUnscored
	case result.ReasonControls:
		return exitControls
	}
	switch e.gate.Stopped {
	case result.StopBudget:
		return exitBudget
	case result.StopMaxFailures:
		return exitBelowFloor
	case result.StopDaemon, result.StopNoWorkers, result.StopMode:
		return exitDaemon
	case result.StopSystematic:
		return systematicCode(e.cause)
	case result.StopInterrupted:
		return exitInterrupted
	}
	if storageFailed(e.cause) {
		return exitStorage
	}
	return exitUsage
}

// systematicCode returns the exit code of a run that the same failure stopped. A judge that does
// not answer is not the daemon's failure.
func systematicCode(cause error) int {
	if same, ok := errors.AsType[*harness.SystematicError](cause); ok && same.Judge {
		return exitUsage
	}
	return exitDaemon
}

// diskFailed reports whether err means that a disk is full, fails or is read-only.
func diskFailed(err error) bool {
	failures := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EIO}
	return slices.ContainsFunc(failures, func(failure error) bool { return errors.Is(err, failure) })
}

// storageFailed reports whether a disk failed, or permission for a file or folder is missing. A
// daemon that may not be executed lacks permission too.
func storageFailed(err error) bool { return diskFailed(err) || errors.Is(err, fs.ErrPermission) }

// unreported returns what an error says beside a rate below its floor, for which the report is
// enough: what failed besides. It is nil if nothing did.
func unreported(err error) error {
	if v, ok := errors.AsType[*verdictError](err); !ok || v.gate.Verdict != result.Fail {
		return err
	}
	var rest []error
	switch e := err.(type) { //nolint:errorlint // each layer is looked at by itself
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			rest = append(rest, unreported(part))
		}
	case *verdictError:
	case interface{ Unwrap() error }:
		inner := unreported(e.Unwrap())
		if prefix, ok := strings.CutSuffix(err.Error(), e.Unwrap().Error()); ok && inner != nil {
			inner = fmt.Errorf("%s%w", prefix, inner)
		}
		rest = append(rest, inner)
	}
	return errors.Join(rest...)
}

// exitCode maps the error of a command to the exit code of the process.
func exitCode(ctx context.Context, err error) int {
	verdict, ok := errors.AsType[*verdictError](err)
	judge, isJudge := errors.AsType[*judging.BelowError](err)
	switch {
	case err == nil:
		return exitDone
	case ok:
		return verdict.code()
	case diskFailed(err):
		return exitStorage
	case errors.Is(err, llm.ErrBudgetExceeded):
		return exitBudget
	case errors.As(err, new(daemonError)), errors.Is(err, harness.ErrDaemonDied),
		errors.Is(err, harness.ErrNoWorkers), errors.Is(err, harness.ErrMode), errors.Is(err, sweep.ErrNoAnswers), errors.Is(err, bench.ErrNoAnswers):
		return exitDaemon
	case errors.As(err, new(*harness.SystematicError)):
		return systematicCode(err)
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, sweep.ErrLost), isJudge && judge.Uncertain:
		return exitUnscored
	case errors.As(err, new(belowError)), errors.As(err, new(*signing.FailedError)), errors.As(err, new(*bench.FailedError)), errors.As(err, new(*conformance.BrokenError)), isJudge:
		return exitBelowFloor
	case errors.Is(err, key.ErrIncomparable):
		return exitDifferent
	case storageFailed(err):
		return exitStorage
	default:
		return exitUsage
	}
}

// firstFailure returns the first failure in a result file that is invalid because of failures, with
// the id of its question. It returns nil for another reason, and the error of reading an unreadable
// file.
func firstFailure(path string, reason result.Reason) error {
	if reason != result.ReasonNoAnswers && reason != result.ReasonLost {
		return nil
	}
	r, err := resultfile.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	for q, err := range r.Questions() {
		switch {
		case err != nil:
			return err
		case q.Error != nil:
			return fmt.Errorf("%s: %s", q.ID, q.Error.Message)
		case q.Outcome == result.Unscored:
			return fmt.Errorf("%s: %s", q.ID, q.Reason)
		}
	}
	return nil
}
