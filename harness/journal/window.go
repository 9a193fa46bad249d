package journal

import (
	"errors"
	"io"
)

// window reads a file through a buffer around the last place that was read: the
// records of a journal lie near each other in almost the order of the dataset.
type windowReader struct {
	src  io.ReaderAt
	at   int64
	held []byte
}

const (
	windowSize = 128 << 10
	windowBack = 32 << 10 // how much of it lies before the place asked for
)

// ReadAt fills p from the place at.
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
