// Package signing signs result files with SSH keys, and verifies the signatures. They have the
// format of ssh-keygen -Y sign.
package signing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"golang.org/x/crypto/ssh"

	"evalctl/harness/journal"
	"evalctl/harness/verify"
	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/sshsig"
)

const (
	// namespace is the namespace of result signatures. They are invalid for commits or mails.
	namespace = "evalctl-result"
	// extension is appended to the name of a result file for its signature.
	extension = ".sig"
	// maxSignature limits a signature file, in bytes. A signature with an RSA key of 16384 bits is
	// smaller.
	maxSignature = 64 << 10
)

// NotVouched names what a signature of a result does not show.
const NotVouched = "that the target was the one in the result; that the run was not the best of several; " +
	"that the target had not seen the questions; when the result was signed"

// Sign signs the result file at path and returns the path of the signature, which is next to the
// result file with the permanent name. The error is a *FailedError for a file that does not
// match its questions.
func Sign(signer *sshsig.Signer, path string) (string, error) {
	rep, err := verify.File(path)
	if err != nil {
		return "", err
	}
	if !rep.OK {
		return "", &FailedError{fmt.Sprintf("%s is not signed: %d of its values are not what its questions say; evalctl verify lists them",
			path, rep.Found)}
	}
	own, _ := journal.Names(path)
	f, err := inputfile.Open(own, inputfile.Streamed)
	if err != nil {
		return "", err
	}
	defer f.Close()
	signature, err := signer.Sign(namespace, f)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", own, err)
	}
	return own + extension, atomicfile.Write(own+extension, 0o644, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, signature)
		return err
	})
}

// Verification is the result of verifying a result file.
type Verification struct {
	*verify.Report
	// Signature is nil if signatures are not checked.
	Signature *Signature `json:"signature,omitempty"`
}

// Signature describes the signature of a file.
type Signature struct {
	OK bool `json:"ok"`
	// Principal is the owner of the key, Key its fingerprint.
	Principal string `json:"principal,omitempty"`
	Key       string `json:"key,omitempty"`
	// Problem says why the file does not count as signed.
	Problem string `json:"problem,omitempty"`
}

// Verify recomputes a result file, see verify.File, and checks its signature unless allowed is nil.
func Verify(path string, allowed *sshsig.AllowedKeys) (Verification, error) {
	rep, err := verify.File(path)
	v := Verification{Report: rep}
	if err == nil && allowed != nil {
		v.Signature = new(check(allowed, path))
	}
	return v, err
}

// check checks the signature of a result file. The signature is named after the file or after its
// permanent name. Either may be left from another result.
func check(allowed *sshsig.AllowedKeys, path string) Signature {
	s, found := checkFile(allowed, path, path+extension)
	own, _ := journal.Names(path)
	if s.OK || own == path {
		return s
	}
	if other, _ := checkFile(allowed, path, own+extension); other.OK || !found {
		return other
	}
	return s
}

// checkFile checks the signature of the file at path that is in the file name, and reports whether
// that file exists.
func checkFile(allowed *sshsig.AllowedKeys, path, name string) (s Signature, found bool) {
	armored, err := inputfile.Read(name, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return Signature{Problem: "it has no signature: there is no " + name}, false
	}
	if err != nil {
		return Signature{Problem: err.Error()}, true
	}
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return Signature{Problem: err.Error()}, true
	}
	defer f.Close()
	key, err := sshsig.Verify(namespace, f, armored)
	if err != nil {
		return Signature{Problem: name + ": " + err.Error()}, true
	}
	s.Key = ssh.FingerprintSHA256(key)
	if s.Principal, err = allowed.Principal(key, namespace, time.Now()); err != nil {
		s.Problem = err.Error()
	}
	s.OK = err == nil
	return s, true
}
