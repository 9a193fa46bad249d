package journal

import (
	"errors"
	"io"
)

// windowReader reads a file through a buffer around the last position. A journal's records are
// close together and almost in dataset order.
type windowReader struct {
	src  io.ReaderAt
	at   int64
	held []byte
}

const (
	windowSize = 128 << 10
	windowBack = 32 << 10 // how much of it is before the place that is read
)

// ReadAt implements io.ReaderAt.
func (w *windowReader) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > windowSize-windowBack {
		return w.src.ReadAt(p, at)
	}
	if at < w.at || at+int64(len(p)) > w.at+int64(len(w.held)) {
		if w.held == nil {
			w.held = make([]byte, windowSize)
		}
		w.at = max(0, at-windowBack)
		n, err := w.src.ReadAt(w.held[:windowSize], w.at)
		w.held = w.held[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	if at-w.at > int64(len(w.held)) {
		return 0, io.EOF
	}
	n := copy(p, w.held[at-w.at:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}
