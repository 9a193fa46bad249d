package intake

import (
	"context"
	"errors"
	"io"
)

// ErrLimit means that a reply is longer than its own limit.
var ErrLimit = errors.New("the reply is longer than its limit")

// Reader reads a reply and draws the bytes that it reads. Closing it closes the reply and gives the
// bytes back, unless the context has a Hold, which keeps them.
type Reader struct {
	ctx   context.Context
	from  io.ReadCloser
	left  int64
	hold  *Hold
	ended bool
}

// NewReader returns a reader of at most limit bytes. Further bytes are ErrLimit.
func NewReader(ctx context.Context, from io.ReadCloser, limit int64) *Reader {
	return &Reader{ctx: ctx, from: from, left: limit, hold: Of(ctx)}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, ErrLimit
	}
	if drawn := r.hold.Draw(r.ctx, int64(n)); drawn != nil {
		return 0, drawn
	}
	return n, err
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	if !r.ended {
		r.ended = true
		r.hold.End()
	}
	return r.from.Close()
}
