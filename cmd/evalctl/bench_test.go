package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

func benchmarkRun(b *testing.B, each func(start time.Time, out string), args ...string) {
	out := b.TempDir()
	args = append([]string{
		"run", "--sdk", "go", "--dataset", "../../datasets/smoke.jsonl", "--scorer", "exact", "--output", out,
	}, args...)
	for b.Loop() {
		start := time.Now()
		if text, err := exec.CommandContext(b.Context(), "evalctl", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, text)
		}
		each(start, out)
	}
}

// BenchmarkFirstQuestion runs one question. ms-to-first is the time from exec until the daemon has
// answered, according to its log. It includes starting the daemon and seeding 21 documents.
func BenchmarkFirstQuestion(b *testing.B) {
	var total time.Duration
	benchmarkRun(b, func(start time.Time, out string) {
		total += firstAsk(b, out).Sub(start)
	}, "--limit", "1", "--floor", "0")
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms-to-first")
}

// firstAsk returns the time of the first ask in the daemon's log.
func firstAsk(b *testing.B, out string) time.Time {
	logs, err := filepath.Glob(filepath.Join(out, "*", "go.daemon.log"))
	if err != nil || len(logs) != 1 {
		b.Fatalf("daemon logs: %q, %v", logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`time=(\S+) .*brains/{id}/ask`).FindSubmatch(data)
	if m == nil {
		b.Fatalf("no ask in %s", data)
	}
	at, err := time.Parse(time.RFC3339, string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return at
}

// BenchmarkSmoke runs the 24 questions of the smoke dataset.
func BenchmarkSmoke(b *testing.B) { benchmarkRun(b, func(time.Time, string) {}) }
