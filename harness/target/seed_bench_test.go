package target

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// BenchmarkSeed writes the 3,726 documents of a real corpus into a brain of the
// reference daemon, a process of its own that keeps files, until a search finds
// the last: by single writes and in batches, in turn.
func BenchmarkSeed(b *testing.B) {
	const file = "../../shared/data/neutral/lme-mixed-turn/corpus.jsonl"
	if _, err := os.Stat(file); err != nil {
		b.Skipf("the corpus is not here: %v", err)
	}
	corpus, err := dataset.LoadCorpus(file)
	if err != nil {
		b.Fatal(err)
	}
	url := serveDaemon(b)
	e, err := NewEndpoint(url, "", "evalctl-test", seedWriters)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	brains := 0
	rate := func(single bool) float64 {
		brains++
		brain := &remoteBrain{endpoint: e, dialect: result.Auto, name: fmt.Sprintf("bench-%d", brains)}
		if err := brain.create(b.Context()); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := brain.seed(b.Context(), corpus.Docs, seedWriters, single); err != nil {
			b.Fatal(err)
		}
		return float64(len(corpus.Docs)) / time.Since(start).Seconds()
	}
	var single, batched float64
	for b.Loop() {
		single += rate(true)
		batched += rate(false)
	}
	b.ReportMetric(single/float64(b.N), "single-docs/s")
	b.ReportMetric(batched/float64(b.N), "batched-docs/s")
	b.ReportMetric(batched/single, "x-single")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}

// serveDaemon builds and starts the reference daemon, and gives its URL.
func serveDaemon(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "evalctl")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "../cmd/evalctl").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(b.Context(), program, "serve", "--addr", "127.0.0.1:0", "--home", b.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		b.Fatalf("the daemon says %q, %v", line, err)
	}
	return url
}
