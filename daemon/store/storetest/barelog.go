package storetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// BareLog is the least that makes writes durable, as a baseline for benchmarks: a file that grows
// by each write, with one sync for all writers that wait.
type BareLog struct {
	file *os.File
	turn chan struct{} // holds a token while somebody writes and syncs

	mu      sync.Mutex
	waiting *appendedBatch
}

// appendedBatch has the bytes that are written together.
type appendedBatch struct {
	data []byte
	done chan struct{} // closed when it is durable
	err  error
}

// NewBareLog creates a log in a temporary folder.
func NewBareLog(t testing.TB) *BareLog {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &BareLog{file: file, turn: make(chan struct{}, 1)}
}

// Append returns once data is durable.
func (l *BareLog) Append(data []byte) error {
	l.mu.Lock()
	if l.waiting == nil {
		l.waiting = &appendedBatch{done: make(chan struct{})}
	}
	mine := l.waiting
	mine.data = append(mine.data, data...)
	l.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case l.turn <- struct{}{}:
	}
	defer func() { <-l.turn }()
	select {
	case <-mine.done:
		return mine.err
	default:
	}
	l.mu.Lock()
	l.waiting = nil
	l.mu.Unlock()
	if _, mine.err = l.file.Write(mine.data); mine.err == nil {
		mine.err = datasync(l.file)
	}
	close(mine.done)
	return mine.err
}
