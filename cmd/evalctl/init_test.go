package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the initialization of a package may take. Every command pays for it, also one that does not
// use the package. The allocations do not depend on how busy the machine is.
const (
	initClock  = time.Millisecond
	initBytes  = 768 << 10
	initAllocs = 2500
)

// initCost is the cost of initializing a package: the least time of several runs.
type initCost struct {
	clock         time.Duration
	bytes, allocs int
}

// TestInit starts the program until no package exceeds the limits, at most 20 times, because a
// process can be preempted in an initialization.
func TestInit(t *testing.T) {
	if runtime.GOOS != "linux" || raceDetector || testing.Short() {
		t.Skip("builds and runs the program")
	}
	t.Parallel()
	costs := map[string]initCost{}
	var over []string
	for range 20 {
		traceInit(t, costs)
		if over = overLimits(costs); over == nil {
			return
		}
	}
	t.Errorf("initialization takes more than %v, %d bytes or %d allocations in\n%s",
		initClock, initBytes, initAllocs, strings.Join(over, "\n"))
}

// traceInit runs evalctl --version and adds what the initialization of each package took to costs.
func traceInit(t *testing.T, costs map[string]initCost) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "evalctl", "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	for line := range strings.Lines(trace.String()) {
		var pkg string
		var at, clock float64
		var c initCost
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &pkg, &at, &clock, &c.bytes, &c.allocs); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.clock = time.Duration(clock * float64(time.Millisecond))
		if earlier, ok := costs[pkg]; ok {
			c.clock = min(c.clock, earlier.clock)
		}
		costs[pkg] = c
	}
	if _, ok := costs["main"]; !ok {
		t.Fatalf("no trace of package main:\n%s", trace.String())
	}
}

func overLimits(costs map[string]initCost) []string {
	var over []string
	for _, pkg := range slices.Sorted(maps.Keys(costs)) {
		c := costs[pkg]
		if c.clock > initClock || c.bytes > initBytes || c.allocs > initAllocs {
			over = append(over, fmt.Sprintf("%s: %v, %d bytes, %d allocations", pkg, c.clock, c.bytes, c.allocs))
		}
	}
	return over
}

// BenchmarkVersion measures the start of the program: from exec to the exit of a command that does
// nothing else.
func BenchmarkVersion(b *testing.B) {
	var processor time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "evalctl", "--version")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(processor.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkServe measures the start of a daemon: from exec to the response of /healthz.
func BenchmarkServe(b *testing.B) {
	var total time.Duration
	for b.Loop() {
		start := time.Now()
		url, cmd := serveProcess(b, nil, "--store", "memory")
		resp, err := http.Get(url + "/healthz")
		if err != nil {
			b.Fatal(err)
		}
		total += time.Since(start)
		_ = resp.Body.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms-to-health")
}
