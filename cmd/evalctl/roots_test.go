package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestRoots checks, in a process that finds no root certificates of the system, that there are
// fallback roots.
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
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("no root certificates: %v", err)
	}
}
