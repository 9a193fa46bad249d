package gitstore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

// keygen creates a private key with ssh-keygen.
func keygen(t *testing.T, passphrase string, args ...string) (file string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	file = filepath.Join(t.TempDir(), "key")
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", append([]string{"-q", "-N", passphrase, "-C", "", "-f", file}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestSSHSigner: git verifies the commits of every type of key.
func TestSSHSigner(t *testing.T) {
	for name, args := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "ecdsa": {"-t", "ecdsa"}, "rsa": {"-t", "rsa", "-b", "2048"},
		"pem": {"-t", "rsa", "-b", "2048", "-m", "PEM"}, "encrypted": {"-t", "ed25519"},
	} {
		t.Run(name, func(t *testing.T) {
			passphrase := map[string]string{"encrypted": "open sesame"}[name]
			file := keygen(t, passphrase, args...)
			s, err := gitstore.NewSSHSigner(file, []byte(passphrase))
			if err != nil {
				t.Fatal(err)
			}
			dir := storetest.MemoryDir(t)
			r := openDir(t, dir, &gitstore.Options{Sign: s.Sign})
			write(t, r, "a", "1")
			must(t, r.Close())
			(&signer{t: t, key: file}).wantVerified(dir, 2)
			allowed := filepath.Join(t.TempDir(), "allowed")
			put(t, allowed, s.AllowedSigner())
			out := git(t, dir, "-c", "gpg.ssh.allowedSignersFile="+allowed, "-c", "gpg.format=ssh", "log", "--show-signature")
			if n := strings.Count(out, `Good "git" signature for evalctl@localhost`); n != 2 || !strings.Contains(out, s.Fingerprint()) {
				t.Errorf("%d signatures are good, key %s:\n%s", n, s.Fingerprint(), out)
			}
		})
	}
}

func TestSSHSignerRefuses(t *testing.T) {
	plain, encrypted := keygen(t, "", "-t", "ed25519"), keygen(t, "open sesame", "-t", "ed25519")
	public := plain + ".pub"
	if err := os.Chmod(public, 0o600); err != nil {
		t.Fatal(err)
	}
	open := keygen(t, "", "-t", "ed25519")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	put(t, other, "-----BEGIN SECRET-----\nhush\n")
	if err := os.Chmod(other, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, passphrase, want string }{
		{plain + ".none", "", "no such file"},
		{filepath.Dir(plain), "", "is not a file"},
		{encrypted, "", "is encrypted: its passphrase is missing or wrong"},
		{encrypted, "hush", "is encrypted: its passphrase is missing or wrong"},
		{public, "", "is a public key: name the private one"},
		{open, "", "has mode 0640: only its owner may have access to a private key (chmod 600)"},
		{other, "", "is not an SSH private key: create one with ssh-keygen"},
	} {
		_, err := gitstore.NewSSHSigner(tt.file, []byte(tt.passphrase))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want %s", tt.file, err, tt.want)
		}
	}
	if _, err := gitstore.NewSSHSigner(plain, []byte("not needed")); err != nil {
		t.Error(err)
	}
}
