package memory

import (
	"errors"
	"fmt"

	"evalctl/daemon/brain"
	"evalctl/daemon/convert"
	"evalctl/daemon/distill"
	"evalctl/daemon/fetch"
)

// Errors that a caller may act on. Operations also fail with the errors of package brain and of
// store.Store.
var (
	// ErrTooLarge means that a document or a listing exceeds a limit of spec 8.
	ErrTooLarge = errors.New("too large")
	// ErrFileTooLarge means that an ingested file or page exceeds its limit.
	ErrFileTooLarge = errors.New("file is too large")
	// ErrKind means that an ingested file or page is of a kind that cannot be converted.
	ErrKind = convert.ErrKind
	// ErrUpstream means that the server of a page could not be reached, or failed.
	ErrUpstream = fetch.ErrUpstream
	// ErrReaderStopped means that the reader ended its answer early. The answer consists of the
	// deltas emitted until then.
	ErrReaderStopped = errors.New("reader stopped before the end of its answer")
	// ErrReply means that a reply of the model was unusable. Nothing was changed.
	ErrReply = distill.ErrReply
	// ErrReaderSilent means that the reader's answer has no text, apart from markers.
	ErrReaderSilent = errors.New("reader gave no answer")
)

// ArgumentError reports an invalid argument of a request.
type ArgumentError = brain.ArgumentError

func argumentErrorf(name, format string, args ...any) error {
	return &ArgumentError{Name: name, Reason: fmt.Sprintf(format, args...)}
}
