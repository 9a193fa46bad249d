package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/crypto/ssh"

	"evalctl/daemon/setup"
	"evalctl/harness/journal"
	"evalctl/harness/verify"
	"evalctl/internal/atomicfile"
	"evalctl/internal/sshsig"
	"evalctl/internal/terminal"
)

const (
	// resultNamespace is that of the signatures of results: they are of no use as those of commits or
	// mails.
	resultNamespace = "evalctl-result"
	// signatureExt is the end of the name of a signature, which is that of its result.
	signatureExt = ".sig"
)

// notVouched is what no signature of a result shows.
const notVouched = "that the target was what the result says it was; that the run was not one of several, of which the best " +
	"was signed; that the target had not seen the questions; when it was signed"

// unsignedError reports files without a good signature.
type unsignedError struct{ files, of int }

func (e *unsignedError) Error() string {
	return fmt.Sprintf("%d of %s without a good signature", e.files, count(e.of, "file")+are(e.of))
}

// signCmd signs result files.
type signCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or sweep files."`
	Key   string   `required:"" env:"SVC_RESULT_KEY" placeholder:"FILE" help:"SSH private key that signs, such as an Ed25519 one (required)."`
}

func (signCmd) Help() string {
	return `Signs result files with an SSH key and writes FILE.sig next to each. The signature is in the format of
ssh-keygen -Y sign, in the namespace evalctl-result. A file whose figures are not what its questions say is
not signed. The passphrase of an encrypted key is read from SVC_SIGN_KEY_PASSPHRASE.

Examples:

  ssh-keygen -t ed25519 -f result-key
  evalctl sign results/2026-01-31/go.json --key result-key
  evalctl verify results/2026-01-31/go.json --allowed-signers allowed_signers
`
}

// Run signs the files, the first of which that cannot be signed ends it.
func (c *signCmd) Run(p *process) error {
	signer, err := sshsig.Load(c.Key, []byte(p.env(setup.SignPassphrase)))
	if errors.Is(err, sshsig.ErrPassphrase) {
		err = fmt.Errorf("%w: set it in %s", err, setup.SignPassphrase)
	}
	if err != nil {
		return usageError{fmt.Errorf("--key: %w", err)}
	}
	for _, path := range c.Files {
		rep, err := verify.File(path)
		if err != nil {
			return usageError{err}
		}
		if !rep.OK {
			return usageError{fmt.Errorf("%s is not signed: %d of its values are not what its questions say; evalctl verify lists them",
				path, rep.Found)}
		}
		own, _ := journal.Names(path)
		if err := sign(signer, own); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s  %s\n", terminal.Line(own+signatureExt), signer.Fingerprint())
	}
	return nil
}

func sign(signer *sshsig.Signer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	signature, err := signer.Sign(resultNamespace, f)
	if err != nil {
		return fmt.Errorf("sign %s: %w", path, err)
	}
	return atomicfile.Write(path+signatureExt, 0o644, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, signature)
		return err
	})
}

// signature is what is known of the signature of a file.
type signature struct {
	OK bool `json:"ok"`
	// Principal is who may sign with the key, Key its fingerprint.
	Principal string `json:"principal,omitempty"`
	Key       string `json:"key,omitempty"`
	Problem   string `json:"problem,omitempty"`
}

// signatureOf checks the signature of a result file, which has the name of the file or of its own
// name.
func signatureOf(allowed *sshsig.Allowed, path string) signature {
	own, _ := journal.Names(path)
	name := path + signatureExt
	armored, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && own != path {
		name = own + signatureExt
		armored, err = os.ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return signature{Problem: "it has no signature: there is no " + name}
	}
	if err != nil {
		return signature{Problem: err.Error()}
	}
	f, err := os.Open(path)
	if err != nil {
		return signature{Problem: err.Error()}
	}
	defer f.Close()
	key, err := sshsig.Verify(resultNamespace, f, armored)
	if err != nil {
		return signature{Problem: name + ": " + err.Error()}
	}
	s := signature{Key: ssh.FingerprintSHA256(key)}
	if s.Principal, err = allowed.Principal(key, resultNamespace, time.Now()); err != nil {
		s.Problem = err.Error()
		return s
	}
	s.OK = true
	return s
}

// String returns the signature as one line for people.
func (s signature) String() string {
	if !s.OK {
		return "NOT SIGNED " + terminal.Line(s.Problem)
	}
	return fmt.Sprintf("signed by %s  %s", terminal.Line(s.Principal), s.Key)
}
