package gitstore

import (
	"context"
	"strings"

	"evalctl/internal/sshsig"
)

// SSHSigner signs commits with an SSH key, as git does with gpg.format ssh. It is safe for
// concurrent use.
type SSHSigner struct{ signer *sshsig.Signer }

// ErrPassphrase is the error of a private key that needs another passphrase than the given one.
var ErrPassphrase = sshsig.ErrPassphrase

// sshNamespace is that of the signatures of git.
const sshNamespace = "git"

// NewSSHSigner reads a private key, as sshsig.Load does.
func NewSSHSigner(file string, passphrase []byte) (*SSHSigner, error) {
	s, err := sshsig.Load(file, passphrase)
	if err != nil {
		return nil, err
	}
	return &SSHSigner{s}, nil
}

// Fingerprint returns the fingerprint of the public key, such as SHA256:..., as ssh-keygen -l
// prints it.
func (s *SSHSigner) Fingerprint() string { return s.signer.Fingerprint() }

// AllowedSigner returns the line for the file of git's gpg.ssh.allowedSignersFile by which the
// signatures are verified. It permits the key nothing but commits of evalctl.
func (s *SSHSigner) AllowedSigner() string {
	return s.signer.AllowedSigner(committerEmail, sshNamespace)
}

// Sign is for Options.Sign.
func (s *SSHSigner) Sign(_ context.Context, r SignRequest) (string, error) {
	return s.signer.Sign(sshNamespace, strings.NewReader(r.Payload))
}
