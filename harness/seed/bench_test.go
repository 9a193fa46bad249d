package seed

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// BenchmarkSeed writes 4,000 documents of about 1 KiB into a brain of the reference daemon, a
// process of its own that keeps files, until they can be searched: by single writes and in batches,
// in turn.
func BenchmarkSeed(b *testing.B) {
	var docs []dataset.Doc
	for i := range 4000 {
		sentence := fmt.Sprintf("The boat %d is in the harbour of town %d. ", i, i%97)
		text := []byte(strings.Repeat(sentence, 24))
		docs = append(docs, dataset.Doc{Path: fmt.Sprintf("%d.md", i), Data: text})
	}
	e := endpointAt(b, serveDaemon(b), "")
	brains := 0
	rate := func(single bool) float64 {
		brains++
		name := fmt.Sprintf("bench-%d", brains)
		brain := NewBrain(e, result.Auto, name)
		if err := brain.Create(b.Context()); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := seedFor(b, brain, docs, single); err != nil {
			b.Fatal(err)
		}
		return float64(len(docs)) / time.Since(start).Seconds()
	}
	var single, batched float64
	for b.Loop() {
		single += rate(true)
		batched += rate(false)
	}
	b.ReportMetric(single/float64(b.N), "single-docs/s")
	b.ReportMetric(batched/float64(b.N), "batched-docs/s")
	b.ReportMetric(batched/single, "x-single")
	b.ReportMetric(0, "ns/op") // the sum of both is of no interest
}

// seedFor seeds a brain in batches, or with a request for each document.
func seedFor(b *testing.B, brain *Brain, docs []dataset.Doc, single bool) error {
	if !single {
		return brain.Seed(b.Context(), docs, concurrentWrites)
	}
	last, query := probeOf(docs)
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(concurrentWrites)
	for i := range docs {
		g.Go(func() error { return brain.Write(ctx, docs[i:i+1], 1) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return brain.awaitSearchable(b.Context(), docs, last, query)
}

// serveDaemon builds and starts the reference daemon and returns its URL.
func serveDaemon(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "evalctl")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", program, "../../cmd/evalctl")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	serve := exec.CommandContext(b.Context(), program,
		"serve", "--addr", "127.0.0.1:0", "--home", b.TempDir())
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		b.Fatalf("the daemon printed %q, %v", line, err)
	}
	return url
}
