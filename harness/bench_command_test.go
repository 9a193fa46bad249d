package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func init() { roles["bare client"] = playBareClient }

// playBareClient sends N requests like REQUEST, which asks question 1, and says
// how long they took.
func playBareClient() error {
	var first captured
	if err := json.Unmarshal([]byte(os.Getenv("REQUEST")), &first); err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Getenv("N"))
	if err != nil {
		return err
	}
	took, err := bareLoop(func(yield func(captured) bool) {
		for i := range n {
			next := first
			next.Body = []byte(strings.ReplaceAll(string(first.Body), "question 1", "question "+strconv.Itoa(i+1)))
			if !yield(next) {
				return
			}
		}
	})
	fmt.Println(took)
	return err
}

// BenchmarkCommand runs the compiled command from exec to exit on 20,000
// questions of a daemon that answers at once, and in turn a bare client that is
// a process of its own and whose start is not counted. of-bare-asking leaves out
// what the command needs for the same dataset when it asks one question only.
func BenchmarkCommand(b *testing.B) {
	program := filepath.Join(b.TempDir(), "evalctl")
	if out, err := exec.Command("go", "build", "-o", program, "evalctl/cmd/evalctl").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for name, whole := range map[string]string{"flushed": "", "whole": "1"} {
		b.Run(name, func(b *testing.B) {
			daemon := startChild(b, "daemon", "DELAY=0s", "WHOLE="+whole)
			benchCommand(b, program, daemon.firstLine)
		})
	}
}

func benchCommand(b *testing.B, program, url string) {
	const n = 20_000
	first := string(encodeJSON(requestsOf(b, url, openDataset(b, writeDataset(b, 1)))[0]))
	path := writeDataset(b, n)
	var bare, one, all usage
	for b.Loop() {
		bare.add(bareClient(b, first, n))
		one.add(command(b, program, url, path, "--limit", "1"))
		all.add(command(b, program, url, path))
	}
	rate := func(t time.Duration) float64 { return float64(n*b.N) / t.Seconds() }
	perQuestion := func(t time.Duration) float64 { return float64(t.Microseconds()) / float64(n*b.N) }
	b.ReportMetric(rate(bare.wall), "bare-req/s")
	b.ReportMetric(rate(all.wall), "command-req/s")
	b.ReportMetric(rate(all.wall)/rate(bare.wall), "of-bare")
	b.ReportMetric(rate(all.wall-one.wall)/rate(bare.wall), "of-bare-asking")
	b.ReportMetric(perQuestion(bare.cpu), "bare-cpu-µs")
	b.ReportMetric(perQuestion(all.cpu), "command-cpu-µs")
	b.ReportMetric(float64(one.wall.Milliseconds())/float64(b.N), "start-ms")
	b.ReportMetric(0, "ns/op")
}

// usage is the time of a process, as a clock and as the processors see it.
type usage struct{ wall, cpu time.Duration }

func (u *usage) add(more usage) {
	u.wall += more.wall
	u.cpu += more.cpu
}

func cpuOf(s *os.ProcessState) time.Duration { return s.UserTime() + s.SystemTime() }

func bareClient(b *testing.B, first string, n int) usage {
	c := startChild(b, "bare client", "REQUEST="+first, "N="+strconv.Itoa(n))
	<-c.ended
	took, err := time.ParseDuration(c.firstLine)
	if err != nil || !c.ProcessState.Success() {
		b.Fatalf("the bare client: %v, %v", c.ProcessState, err)
	}
	return usage{took, cpuOf(c.ProcessState)}
}

func command(b *testing.B, program, url, dataset string, more ...string) usage {
	cmd := exec.Command(program, append([]string{
		"run", "--sdk", "go", "--endpoint", url, "--brain", "eval", "--corpus", "none",
		"--dataset", dataset, "--scorer", "exact", "--concurrency", "16", "--output", b.TempDir(),
	}, more...)...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return usage{time.Since(start), cpuOf(cmd.ProcessState)}
}
