//go:build unix

package harness

import (
	"runtime"
	"syscall"
	"testing"
)

// peakRSS is the most memory that a run of n questions held, in MiB: that of a
// process which does nothing else, as the system counted it.
func peakRSS(b *testing.B, url string, n int) float64 {
	b.Helper()
	c := startChild(b, "run", "URL="+url, "DATASET="+writeDataset(b, n), "DIR="+b.TempDir())
	<-c.ended
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || !c.ProcessState.Success() {
		b.Fatalf("the run of %d questions: %v", n, c.ProcessState)
	}
	if runtime.GOOS == "darwin" {
		return float64(usage.Maxrss) / (1 << 20)
	}
	return float64(usage.Maxrss) / (1 << 10)
}

// BenchmarkPeakMemory compares runs of 1,000 and of 200,000 questions. It takes
// a minute or two.
func BenchmarkPeakMemory(b *testing.B) {
	daemon := startChild(b, "daemon", "DELAY=0s")
	for b.Loop() {
		small := peakRSS(b, daemon.firstLine, 1_000)
		large := peakRSS(b, daemon.firstLine, 200_000)
		b.ReportMetric(small, "MiB-1k")
		b.ReportMetric(large, "MiB-200k")
		b.ReportMetric(large-small, "MiB-more")
	}
}
