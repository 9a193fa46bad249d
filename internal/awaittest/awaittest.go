// Package awaittest waits for other goroutines and processes, and keeps their logs.
package awaittest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is far longer than any expected event takes.
const patience = 3 * time.Minute

// Until waits until holds returns true, and fails the test if it never does. It is called in the
// goroutine of the test. The message names the event what.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// Receive receives a value, or the zero value once the channel is closed, and fails the test if
// neither comes. It is called in the goroutine of the test. The message names the event what.
func Receive[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
	return value
}

// Wait calls wait, such as a sync.WaitGroup's, and fails the test if it does not return. It is
// called in the goroutine of the test. The message names the subject what.
func Wait(t testing.TB, what string, wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	Receive(t, what, done)
}

// Log is a log that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
