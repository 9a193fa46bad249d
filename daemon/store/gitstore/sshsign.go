package gitstore

import (
	"context"
	"strings"

	"evalctl/internal/sshsig"
)

// SignSSH returns an Options.Sign that signs with an SSH key, as git does with gpg.format ssh.
func SignSSH(key *sshsig.Signer) func(context.Context, SignRequest) (string, error) {
	return func(_ context.Context, r SignRequest) (string, error) {
		return key.Sign("git", strings.NewReader(r.Payload))
	}
}
