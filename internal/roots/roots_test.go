package roots

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestHas checks which environments surely have root certificates, as package crypto/x509 reads
// them.
func TestHas(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the system has its own way")
	}
	dir := t.TempDir()
	good, empty := filepath.Join(dir, "good.pem"), filepath.Join(dir, "empty.pem")
	var text []byte
	for root := range bundle.Roots() {
		text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		break
	}
	for file, data := range map[string][]byte{good: text, empty: []byte("no certificate\n")} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		bundle string
		env    map[string]string
		want   bool
	}{
		{"a bundle", good, nil, true},
		{"no bundle", empty, nil, false},
		{"a file instead of the bundle", empty, map[string]string{"SSL_CERT_FILE": good}, true},
		{"a file without certificates", good, map[string]string{"SSL_CERT_FILE": empty}, false},
		{"a file that is not there", good, map[string]string{"SSL_CERT_FILE": filepath.Join(dir, "none")}, false},
		{"a directory beside the bundle", good, map[string]string{"SSL_CERT_DIR": filepath.Join(dir, "none")}, true},
		{"only a directory", empty, map[string]string{"SSL_CERT_DIR": dir}, false},
		{"the fallback is asked for", good, map[string]string{"GODEBUG": "a=1,x509usefallbackroots=1"}, false},
	} {
		bundles = []string{tt.bundle}
		if got := has(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
