package faulttest

import (
	"testing"
	"time"
)

// TestOneProcess checks a daemon with its own files, which has no faults.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	r := startReplica(t, "one", nil, "--home", t.TempDir())
	w := newWorld(t, brainsOfWorld, func() []string { return []string{r.URL()} })
	w.play(t.Context(), 1, func() { time.Sleep(2 * time.Second) })
	w.report()
}
