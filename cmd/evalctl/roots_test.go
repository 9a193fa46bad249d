package main

import (
	"crypto/x509"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestRoots checks, in a process that finds no root certificates of the system, that a command that
// may connect to a daemon has fallback roots.
func TestRoots(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux can the environment hide the roots of the system")
	}
	if os.Getenv("TEST_ROOTS") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRoots$")
		cmd.Env = append(os.Environ(), "TEST_ROOTS=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := &process{
		env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard,
		args: []string{"health", "http://127.0.0.1:0"},
	}
	run(t.Context(), p)
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("no root certificates: %v", err)
	}
}
