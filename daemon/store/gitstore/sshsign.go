package gitstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/crypto/ssh"
)

// SSHSigner signs commits with an SSH key, as git does with gpg.format ssh. It is safe for
// concurrent use.
type SSHSigner struct{ signer ssh.AlgorithmSigner }

// ErrPassphrase is the error of a private key that needs another passphrase than the given one.
var ErrPassphrase = errors.New("its passphrase is missing or wrong")

// maxKeyFile is the largest private key file that is read, in bytes. RSA keys of 16384 bits need
// less.
const maxKeyFile = 64 << 10

// NewSSHSigner reads a private key: Ed25519, ECDSA or RSA in the format of OpenSSH, or ECDSA or RSA
// in PEM. The passphrase is only for an encrypted key. As for ssh, nobody but the owner of the file
// may have access to it.
func NewSSHSigner(file string, passphrase []byte) (*SSHSigner, error) {
	data, err := readKeyFile(file)
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParseRawPrivateKey(data)
	_, encrypted := errors.AsType[*ssh.PassphraseMissingError](err)
	if encrypted {
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(data, passphrase)
	}
	switch {
	case err != nil && encrypted:
		return nil, fmt.Errorf("%s is encrypted: %w", file, ErrPassphrase)
	case err != nil && isPublicKey(data):
		return nil, fmt.Errorf("%s is a public key: name the private one, usually the same without .pub", file)
	case err != nil: // its text could quote the file
		return nil, fmt.Errorf("%s is not an SSH private key: create one with ssh-keygen -t ed25519 -f FILE", file)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, fmt.Errorf("%s: keys of this type are not supported: create one with ssh-keygen -t ed25519 -f FILE", file)
	}
	s, ok := signer.(ssh.AlgorithmSigner)
	if !ok || signer.PublicKey().Type() == ssh.InsecureKeyAlgoDSA { //nolint:staticcheck // named to refuse it
		return nil, fmt.Errorf("%s: keys of type %s cannot sign commits: create one with ssh-keygen -t ed25519 -f FILE",
			file, signer.PublicKey().Type())
	}
	return &SSHSigner{s}, nil
}

func readKeyFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", file, maxKeyFile)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has mode %04o: only its owner may have access to a private key (chmod 600)",
			file, info.Mode().Perm())
	}
	return os.ReadFile(file)
}

func isPublicKey(data []byte) bool {
	_, _, _, _, err := ssh.ParseAuthorizedKey(data)
	return err == nil
}

// Fingerprint returns the fingerprint of the public key, such as SHA256:..., as ssh-keygen -l
// prints it.
func (s *SSHSigner) Fingerprint() string { return ssh.FingerprintSHA256(s.signer.PublicKey()) }

// AllowedSigner returns the line for the file of git's gpg.ssh.allowedSignersFile by which the
// signatures are verified. It permits the key nothing but commits of evalctl.
func (s *SSHSigner) AllowedSigner() string {
	return fmt.Sprintf("%s namespaces=%q %s", committerEmail, sshNamespace, ssh.MarshalAuthorizedKey(s.signer.PublicKey()))
}

// What the signatures of git have in common (PROTOCOL.sshsig of OpenSSH).
const (
	sshMagic     = "SSHSIG"
	sshVersion   = 1
	sshNamespace = "git"
	sshHash      = "sha512"
)

// Sign is for Options.Sign.
func (s *SSHSigner) Sign(_ context.Context, r SignRequest) (string, error) {
	sum := sha512.Sum512([]byte(r.Payload))
	signed := append([]byte(sshMagic), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{sshNamespace, "", sshHash, sum[:]})...)
	algorithm := s.signer.PublicKey().Type()
	if algorithm == ssh.KeyAlgoRSA { // which would be SHA-1
		algorithm = ssh.KeyAlgoRSASHA512
	}
	signature, err := s.signer.SignWithAlgorithm(rand.Reader, signed, algorithm)
	if err != nil {
		return "", err
	}
	blob := append([]byte(sshMagic), ssh.Marshal(struct {
		Version                   uint32
		PublicKey                 []byte
		Namespace, Reserved, Hash string
		Signature                 []byte
	}{sshVersion, s.signer.PublicKey().Marshal(), sshNamespace, "", sshHash, ssh.Marshal(signature)})...)
	armored := pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: blob})
	return string(bytes.TrimSuffix(armored, []byte("\n"))), nil
}
