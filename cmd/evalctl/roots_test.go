package main

import (
	"context"
	"crypto/x509"
	"fmt"
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
	cmd := exec.CommandContext(t.Context(), "rooted")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// rooted runs such a command, and fails if there are no roots then.
func rooted() {
	p := &process{
		env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard,
		args: []string{"serve", "health", "http://127.0.0.1:0"},
	}
	run(context.Background(), p)
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		fmt.Println("no root certificates:", err)
		os.Exit(1)
	}
}
