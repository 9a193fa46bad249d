// Package wakeup wakes a goroutine that has something to do.
package wakeup

// Signal wakes the goroutine that receives from it. It holds a token while it is set.
type Signal chan struct{}

// New returns a signal that is not set.
func New() Signal { return make(Signal, 1) }

// Set does not wait.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}
