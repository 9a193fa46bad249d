package gitstore_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/sshsig"
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

// TestSignSSH: git verifies the commits of every type of key.
func TestSignSSH(t *testing.T) {
	for name, args := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "ecdsa": {"-t", "ecdsa"}, "rsa": {"-t", "rsa", "-b", "2048"},
		"pem": {"-t", "rsa", "-b", "2048", "-m", "PEM"}, "encrypted": {"-t", "ed25519"},
	} {
		t.Run(name, func(t *testing.T) {
			passphrase := map[string]string{"encrypted": "open sesame"}[name]
			file := keygen(t, passphrase, args...)
			s, err := sshsig.Load(file, []byte(passphrase))
			if err != nil {
				t.Fatal(err)
			}
			dir := storetest.MemoryDir(t)
			r := openDir(t, dir, &gitstore.Options{Sign: gitstore.SignSSH(s)})
			write(t, r, "a", "1")
			must(t, r.Close())
			(&signer{t: t, key: file}).wantVerified(dir, 2)
		})
	}
}
