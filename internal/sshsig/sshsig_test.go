package sshsig_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/internal/sshsig"
)

const namespace = "evalctl-result"

// keygen runs ssh-keygen, and skips the test without it.
func keygen(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// newKey creates a private key and returns its file.
func newKey(t *testing.T, kind string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := keygen(t, nil, "-q", "-N", "", "-C", "", "-t", kind, "-f", file); err != nil {
		t.Fatal(out, err)
	}
	return file
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// publicKey returns the line of the public key of a private one.
func publicKey(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWithOpenSSH checks that ssh-keygen verifies what Sign signs, and Verify what ssh-keygen signs.
func TestWithOpenSSH(t *testing.T) {
	message := []byte("a result\nof two lines\n")
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			file := newKey(t, kind)
			s, err := sshsig.Load(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			signature, err := s.Sign(namespace, bytes.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			allowed := write(t, "ci@example.org namespaces=\"evalctl-result\" "+publicKey(t, file))
			args := []string{"-Y", "verify", "-f", allowed, "-I", "ci@example.org", "-n", namespace, "-s", write(t, signature+"\n")}
			if out, err := keygen(t, message, args...); err != nil || !strings.Contains(out, `Good "evalctl-result" signature for ci@example.org`) {
				t.Errorf("ssh-keygen says %q, %v", out, err)
			}
			if out, err := keygen(t, append(message, 'x'), args...); err == nil {
				t.Errorf("ssh-keygen accepts another text: %q", out)
			}

			theirs, err := keygen(t, message, "-Y", "sign", "-f", file, "-n", namespace)
			if err != nil {
				t.Fatal(theirs, err)
			}
			theirs = theirs[strings.Index(theirs, "-----BEGIN"):]
			list, err := sshsig.ReadAllowed(allowed)
			if err != nil {
				t.Fatal(err)
			}
			for name, armored := range map[string]string{"ours": signature, "theirs": theirs} {
				key, err := sshsig.Verify(namespace, bytes.NewReader(message), []byte(armored))
				if err != nil {
					t.Fatal(name, err)
				}
				if who, err := list.Principal(key, namespace, time.Now()); who != "ci@example.org" || err != nil {
					t.Errorf("%s: %q, %v", name, who, err)
				}
				if _, err := list.Principal(key, "git", time.Now()); err == nil {
					t.Errorf("%s: the key may sign commits", name)
				}
				for what, err := range map[string]error{
					"another text":      second(sshsig.Verify(namespace, strings.NewReader("other"), []byte(armored))),
					"another namespace": second(sshsig.Verify("git", bytes.NewReader(message), []byte(armored))),
					"no signature":      second(sshsig.Verify(namespace, bytes.NewReader(message), []byte("x"))),
				} {
					if err == nil {
						t.Errorf("%s: %s is accepted", name, what)
					}
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestAllowedSigners(t *testing.T) {
	file := newKey(t, "ed25519")
	s, err := sshsig.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	public := publicKey(t, file)
	signature, err := s.Sign(namespace, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := sshsig.Verify(namespace, strings.NewReader("x"), []byte(signature))
	if err != nil {
		t.Fatal(err)
	}
	for options, want := range map[string]string{
		"": "", `namespaces="evalctl-*" `: "", `namespaces="git,evalctl-result" `: "", `namespaces="git" `: "may not sign",
		`namespaces="*,!evalctl-result" `: "may not sign", `valid-after="20200101Z" `: "", `valid-before="20200101" `: "not valid now",
		`valid-after="299901010000" `: "not valid now", `valid-before="soon" `: "is not a time", "cert-authority ": "is not supported",
	} {
		list, err := sshsig.ReadAllowed(write(t, "# keys\n\n\"a@b,c@d\" "+options+public))
		if err == nil {
			_, err = list.Principal(key, namespace, time.Now())
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", options, err, want)
		}
	}
	for text, want := range map[string]string{"": "has no keys", "a@b": "file:1: it is not PRINCIPAL", "a@b ssh-ed25519 AAAA": "it is not PRINCIPAL"} {
		if _, err := sshsig.ReadAllowed(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	other, err := sshsig.ReadAllowed(write(t, "x@y "+strings.Replace(public, "AAAAC3NzaC1lZDI1NTE5AAAAI", "AAAAC3NzaC1lZDI1NTE5AAAAI", 1)))
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := sshsig.Load(newKey(t, "ed25519"), nil)
	if err != nil {
		t.Fatal(err)
	}
	signature, err = stranger.Sign(namespace, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if key, err = sshsig.Verify(namespace, strings.NewReader("x"), []byte(signature)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Principal(key, namespace, time.Now()); err == nil || !strings.Contains(err.Error(), "is not in") {
		t.Errorf("a stranger: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----"))
	f.Fuzz(func(t *testing.T, armored []byte) {
		if _, err := sshsig.Verify(namespace, strings.NewReader("x"), armored); err == nil {
			t.Error("accepted")
		}
	})
}

func TestLoadRefuses(t *testing.T) {
	plain, encrypted := newKey(t, "ed25519"), newKey(t, "ed25519")
	if out, err := keygen(t, nil, "-p", "-N", "open sesame", "-f", encrypted); err != nil {
		t.Fatal(out, err)
	}
	gcm := newKey(t, "ed25519")
	if out, err := keygen(t, nil, "-p", "-N", "open sesame", "-Z", "aes256-gcm@openssh.com", "-f", gcm); err != nil {
		t.Fatal(out, err)
	}
	public := plain + ".pub"
	if err := os.Chmod(public, 0o600); err != nil {
		t.Fatal(err)
	}
	open := newKey(t, "ed25519")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	other := write(t, "-----BEGIN SECRET-----\nhush\n")
	for _, tt := range []struct{ file, passphrase, want string }{
		{plain + ".none", "", "no such file"},
		{filepath.Dir(plain), "", "is not a file"},
		{encrypted, "", "is encrypted: its passphrase is missing or wrong"},
		{encrypted, "hush", "is encrypted: its passphrase is missing or wrong"},
		{gcm, "", "is encrypted: its passphrase is missing or wrong"},
		{gcm, "open sesame", "is not supported: rewrite it with ssh-keygen -p -Z aes256-ctr -f " + gcm},
		{public, "", "is a public key: name the private one"},
		{open, "", "has mode 0640: only its owner may have access to a private key (chmod 600)"},
		{other, "", "is not an SSH private key: create one with ssh-keygen"},
	} {
		_, err := sshsig.Load(tt.file, []byte(tt.passphrase))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want %s", tt.file, err, tt.want)
		}
	}
	if _, err := sshsig.Load(plain, []byte("not needed")); err != nil {
		t.Error(err)
	}
	if _, err := sshsig.Load(encrypted, []byte("open sesame")); err != nil {
		t.Error(err)
	}
	if _, err := sshsig.Load(gcm, []byte("open sesame")); errors.Is(err, sshsig.ErrPassphrase) {
		t.Errorf("the passphrase is right: %v", err)
	}
	if out, err := keygen(t, nil, "-p", "-P", "open sesame", "-N", "open sesame", "-Z", "aes256-ctr", "-f", gcm); err != nil {
		t.Fatal(out, err)
	}
	if _, err := sshsig.Load(gcm, []byte("open sesame")); err != nil {
		t.Errorf("rewritten as advised: %v", err)
	}
}
