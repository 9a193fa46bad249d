package scripts_test

import (
	"os/exec"
	"testing"
)

// The server of a sentence model speaks the protocol. Its tests need no weights.
func TestEmbedServer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	test := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "test_serve")
	test.Dir = "../tools/embed"
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
