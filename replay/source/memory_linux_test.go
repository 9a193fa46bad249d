package source

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

var full = flag.Bool("full", false, "measure memory with a file of the size of LongMemEval-S")

// measuredFile is the variable that has the file which TestMeasuredLoad reads.
const measuredFile = "EVALCTL_TEST_MEASURED_FILE"

// TestMeasuredLoad is run by TestPeakMemory in a process of its own. It prints the peak memory.
func TestMeasuredLoad(t *testing.T) {
	path := os.Getenv(measuredFile)
	if path == "" {
		t.Skip("part of TestPeakMemory")
	}
	b := open(t, path, Options{})
	haystack(t, b, b.Infos()[len(b.Infos())-1].ID)
	status := filetest.Read(t, "/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println("peak:" + peak)
}

// TestPeakMemory checks that memory does not grow with the file.
func TestPeakMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes a file of 128 MB")
	}
	size := int64(128_000_000)
	if *full {
		size = syntheticBytes
	}
	path, instance := synthetic(t, size)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestMeasuredLoad$", "-test.v")
	cmd.Env = append(os.Environ(), measuredFile+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "peak:")
	var kb int64
	if _, err := fmt.Sscanf(strings.TrimSpace(text), "%d kB", &kb); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const allowed = 64 << 20
	t.Logf("peak memory %d MiB for a file of %d MiB with instances of %d KiB",
		kb>>10, size>>20, instance>>10)
	if kb<<10 > allowed+instance {
		t.Errorf("peak memory is %d KiB, and may be 64 MiB above an instance of %d KiB", kb, instance>>10)
	}
}
