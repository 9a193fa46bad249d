package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func init() {
	roles["measured run"] = func() error {
		if err := playRun(); err != nil {
			return err
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		_, err = fmt.Println(peak)
		return err
	}
}

// peakRSS returns the peak memory of a run of n questions in MiB, as the kernel counts it for a
// process that does nothing else. The value of wait4 would include the memory of the parent, which
// a child shares until its exec.
func peakRSS(b *testing.B, url string, n int) float64 {
	b.Helper()
	c := startChild(b, "measured run", "URL="+url,
		"DATASET="+writeDataset(b, n), "DIR="+b.TempDir())
	<-c.ended
	var kb float64
	_, err := fmt.Sscanf(strings.TrimSpace(c.output.String()), "%f kB", &kb)
	if err != nil || !c.ProcessState.Success() {
		b.Fatalf("the run of %d questions: %v, %v: %s", n, c.ProcessState, err, c.output.String())
	}
	return kb / 1024
}

// BenchmarkPeakMemory compares runs of 1,000 and of 200,000 questions. It takes half a minute.
func BenchmarkPeakMemory(b *testing.B) {
	daemon := startChild(b, "daemon", "DELAY=0s")
	for b.Loop() {
		small := peakRSS(b, daemon.firstLine, 1_000)
		large := peakRSS(b, daemon.firstLine, 200_000)
		b.ReportMetric(small, "MiB-1k")
		b.ReportMetric(large, "MiB-200k")
		b.ReportMetric(large-small, "MiB-more")
	}
	b.ReportMetric(0, "ns/op") // the time is of no interest
}
