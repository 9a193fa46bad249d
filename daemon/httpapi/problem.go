package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/admission"
	"evalctl/internal/llm"
)

// Kinds of errors that this package itself rejects requests with. A requestError adds the detail.
var (
	errInvalid      = errors.New("invalid request")
	errTooLarge     = errors.New("too large")
	errMediaType    = errors.New("unsupported media type")
	errUnconfirmed  = errors.New("confirmation required")
	errNoRoute      = errors.New("no such endpoint")
	errMethod       = errors.New("method not allowed")
	errUnauthorized = errors.New("unauthorized")
	errForbidden    = errors.New("forbidden")
	errRateLimited  = errors.New("rate limited")
	errCrossOrigin  = errors.New("request from another origin")
	errForeignHost  = errors.New("request for another host")
	errDeadline     = errors.New("server deadline exceeded")
	errShuttingDown = errors.New("daemon is shutting down")
	// errKeyEnded is the errUnauthorized of a key that has expired or was revoked.
	errKeyEnded = fmt.Errorf("%w: token is no longer valid", errUnauthorized)
	// errBodyTooLarge is the errTooLarge of a body as a whole.
	errBodyTooLarge = fmt.Errorf("body is %w", errTooLarge)
)

// requestError is an error of one of the kinds above, with a detail for the client.
type requestError struct {
	kind   error
	detail string
}

func (e *requestError) Error() string { return e.detail }
func (e *requestError) Unwrap() error { return e.kind }

func requestErrorf(kind error, format string, args ...any) error {
	return &requestError{kind, fmt.Sprintf(format, args...)}
}

// outcome is how an error is reported to the client, as a Problem or as the error event of a
// stream.
type outcome struct {
	status    int
	code      string
	title     string
	retryable bool
	// hidden means that the client does not get the error's text.
	hidden bool
}

// statusClientGone is for the log: most of its clients receive nothing.
const statusClientGone = 499

// outcomes is searched from the top; the first match applies.
var outcomes = []struct {
	match func(error) bool
	outcome
}{
	// Causes that have to be repaired first, whatever failed because of them.
	{is(syscall.ENOSPC), outcome{507, protocol.CodeStorageFull, "Disk is full", false, true}},
	{is(syscall.EDQUOT), outcome{507, protocol.CodeStorageFull, "Disk is full", false, true}},
	{is(syscall.EROFS), outcome{503, protocol.CodeReadOnly, "Disk is read-only", false, true}},

	// Why a brain cannot be used. Before others, because the causes may be any errors.
	{is(store.ErrSchemaVersion), outcome{501, protocol.CodeSchemaVersion, "Written by a newer program", false, false}},
	{is(store.ErrDamaged), outcome{503, protocol.CodeBrainUnavailable, "Brain is damaged", false, false}},
	{is(store.ErrLocked), outcome{503, protocol.CodeBrainLocked, "Brain is in use by another program", true, false}},
	{is(store.ErrUnavailable), outcome{503, protocol.CodeStoreUnavailable, "Store is unavailable", true, false}},
	{is(store.ErrGone), outcome{404, protocol.CodeNotFound, "No such brain", false, false}},
	{is(brain.ErrOpen), outcome{503, protocol.CodeBrainUnavailable, "Brain cannot be opened", false, true}},

	{is(errInvalid), outcome{400, protocol.CodeValidation, "Invalid request", false, false}},
	{isA[*brain.ArgumentError], outcome{400, protocol.CodeValidation, "Invalid request", false, false}},
	{is(store.ErrInvalidPath), outcome{400, protocol.CodeValidation, "Invalid path", false, false}},
	{is(errUnauthorized), outcome{401, protocol.CodeUnauthorized, "Unauthorized", false, false}},
	{is(errForbidden), outcome{403, protocol.CodeForbidden, "Not allowed", false, false}},
	{is(errCrossOrigin), outcome{403, protocol.CodeForbidden, "Forbidden", false, false}},
	{is(errForeignHost), outcome{403, protocol.CodeForbidden, "Not this host", false, false}},
	{is(errNoRoute), outcome{404, protocol.CodeNotFound, "No such endpoint", false, false}},
	{is(brain.ErrNotFound), outcome{404, protocol.CodeNotFound, "No such brain", false, false}},
	{is(store.ErrNotFound), outcome{404, protocol.CodeNotFound, "Not found", false, false}},
	{is(errMethod), outcome{405, protocol.CodeMethodNotAllowed, "Method not allowed", false, false}},
	{is(brain.ErrExists), outcome{409, protocol.CodeConflict, "Brain exists", false, false}},
	{is(store.ErrConflict), outcome{409, protocol.CodeConflict, "Conflict", false, false}},
	{is(errTooLarge), outcome{413, protocol.CodePayloadTooLarge, "Too large", false, false}},
	{is(memory.ErrFileTooLarge), outcome{413, protocol.CodeFileTooLarge, "File is too large", false, false}},
	{is(memory.ErrTooLarge), outcome{413, protocol.CodePayloadTooLarge, "Too large", false, false}},
	{is(errMediaType), outcome{415, protocol.CodeUnsupportedMediaType, "Unsupported media type", false, false}},
	{is(memory.ErrKind), outcome{415, protocol.CodeUnsupportedMediaType, "Unsupported kind of file", false, false}},
	{is(errUnconfirmed), outcome{428, protocol.CodeConfirmationRequired, "Confirmation required", false, false}},
	{is(errRateLimited), outcome{429, protocol.CodeRateLimited, "Too many requests", true, false}},
	{isReader(429), outcome{429, protocol.CodeRateLimited, "Model provider is rate limited", true, false}},
	{isReader(0, 408, 500, 502, 503, 504), outcome{502, protocol.CodeBadGateway, "Model provider failed", true, false}},
	{isA[*llm.Error], outcome{502, protocol.CodeBadGateway, "Model provider refused", false, false}},
	{is(brain.ErrSearchSlow), outcome{502, protocol.CodeBadGateway, "Model of the search is slow", true, false}},
	// The text of an embedder or reranker that is no *llm.Error may contain anything.
	{is(brain.ErrSearchModel), outcome{502, protocol.CodeBadGateway, "Model of the search failed", true, true}},
	{is(memory.ErrUpstream), outcome{502, protocol.CodeBadGateway, "Server of the page failed", true, false}},
	{is(memory.ErrReaderStopped), outcome{502, protocol.CodeBadGateway, "Answer is incomplete", false, false}},
	{is(memory.ErrReply), outcome{502, protocol.CodeBadGateway, "Model gave no usable reply", true, false}},
	{is(memory.ErrReaderSilent), outcome{502, protocol.CodeBadGateway, "No answer", true, false}},
	{isA[*brain.UnreadyError], outcome{503, protocol.CodeIndexing, "Not searchable yet", true, false}},
	{is(admission.ErrOverloaded), outcome{503, protocol.CodeOverloaded, "Overloaded", true, false}},
	{is(errShuttingDown), outcome{503, "shutting_down", "Shutting down", true, false}},
	{is(brain.ErrClosed), outcome{503, "shutting_down", "Shutting down", true, false}},
	{is(store.ErrReadOnly), outcome{503, protocol.CodeReadOnly, "Store is closed or read-only", true, false}},
	{is(errDeadline), outcome{504, protocol.CodeTimeout, "Deadline exceeded", true, false}},
	{is(context.DeadlineExceeded), outcome{504, protocol.CodeTimeout, "Timeout", true, false}},
	{func(error) bool { return true }, outcome{500, protocol.CodeInternal, "Internal error", false, true}},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isReader matches failures of a model provider by their HTTP status.
func isReader(statuses ...int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*llm.Error](err)
		return ok && slices.Contains(statuses, e.Status)
	}
}

func outcomeOf(err error) outcome {
	for _, row := range outcomes {
		if row.match(err) {
			return row.outcome
		}
	}
	panic("unreachable: the last row matches everything")
}

// detail returns the error's text if the client may see it.
func (o outcome) detail(err error, requestID string) string {
	if e, ok := errors.AsType[*store.UnusableError](err); ok {
		return e.Reason // the cause is for the operator
	}
	if o.hidden {
		return cmp.Or(remedies[o.code], "the daemon's log has the reason under request "+requestID)
	}
	return err.Error()
}

// remedies are the details of failures of the disk, by code. The texts of the errors have paths.
var remedies = map[string]string{
	protocol.CodeStorageFull: "the disk of the daemon is full: free space on it, then try again",
	protocol.CodeReadOnly:    "the disk of the daemon is read-only: make it writable, then try again",
}
