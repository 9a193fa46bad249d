package brain

// signal wakes the goroutine that receives from it. It holds a token while it is set.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// set does not wait.
func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}
