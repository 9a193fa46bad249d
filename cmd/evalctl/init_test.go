package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What the initialization of a package may take. Every command pays for it, also one that does not
// use the package. The allocations do not depend on how busy the machine is.
const (
	initBytes  = 768 << 10
	initAllocs = 2500
)

// TestInit starts the program and checks what the initialization of each package allocates.
func TestInit(t *testing.T) {
	if runtime.GOOS != "linux" || raceDetector || testing.Short() {
		t.Skip("builds and runs the program")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "evalctl", "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	own := false
	for line := range strings.Lines(trace.String()) {
		var pkg string
		var at, clock float64
		var bytes, allocs int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &pkg, &at, &clock, &bytes, &allocs); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		own = own || pkg == "main"
		if bytes > initBytes || allocs > initAllocs {
			t.Errorf("%s: %d bytes, %d allocations; the limits are %d and %d", pkg, bytes, allocs, initBytes, initAllocs)
		}
	}
	if !own {
		t.Errorf("no trace of package main:\n%s", trace.String())
	}
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
