// Package sshsig makes and checks signatures in the format of OpenSSH (PROTOCOL.sshsig), as
// ssh-keygen -Y sign and -Y verify do.
package sshsig

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"

	"evalctl/internal/inputfile"
)

// Signer signs with an SSH key. It is safe for concurrent use.
type Signer struct{ signer ssh.AlgorithmSigner }

// ErrPassphrase is the error of a private key whose passphrase is missing or wrong.
var ErrPassphrase = errors.New("its passphrase is missing or wrong")

// maxKeyFile is the largest private key file that is read, in bytes. RSA keys of 16384 bits need
// less.
const maxKeyFile = 64 << 10

// Load reads a private key: Ed25519, ECDSA or RSA in the format of OpenSSH, or ECDSA or RSA
// in PEM. The passphrase is only for an encrypted key. As for ssh, nobody but the owner of the file
// may have access to it.
func Load(file string, passphrase []byte) (*Signer, error) {
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
	case err != nil && encrypted && len(passphrase) > 0 && !wrongPassphrase(data, err):
		return nil, fmt.Errorf("%s is encrypted, and its cipher or type of key is not supported: "+
			"rewrite it with ssh-keygen -p -Z aes256-ctr -f %s, or create another key with ssh-keygen -t ed25519 -f FILE", file, file)
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
		return nil, fmt.Errorf("%s: keys of type %s cannot sign: create one with ssh-keygen -t ed25519 -f FILE",
			file, signer.PublicKey().Type())
	}
	return &Signer{s}, nil
}

// wrongPassphrase reports whether a key could not be decrypted, with this error, because of its
// passphrase. In PEM a wrong one can also give noise that is not a key, with any error.
func wrongPassphrase(data []byte, err error) bool {
	block, _ := pem.Decode(data)
	return errors.Is(err, x509.IncorrectPasswordError) || block != nil && block.Type != "OPENSSH PRIVATE KEY"
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
	return inputfile.Read(file, maxKeyFile)
}

func isPublicKey(data []byte) bool {
	_, _, _, _, err := ssh.ParseAuthorizedKey(data)
	return err == nil
}

// Fingerprint returns the fingerprint of the public key, such as SHA256:..., as ssh-keygen -l
// prints it.
func (s *Signer) Fingerprint() string { return ssh.FingerprintSHA256(s.signer.PublicKey()) }

// Fields that all signatures have in common.
const (
	magic     = "SSHSIG"
	version   = 1
	usualHash = "sha512"
	pemType   = "SSH SIGNATURE"
)

// signedData is the text that the key signs, after magic.
type signedData struct {
	Namespace, Reserved, Hash string
	Sum                       []byte
}

// blob is a signature, after magic.
type blob struct {
	Version                   uint32
	PublicKey                 []byte
	Namespace, Reserved, Hash string
	Signature                 []byte
}

func sumOf(h hash.Hash, message io.Reader) ([]byte, error) {
	if _, err := io.Copy(h, message); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// Sign returns the armored signature of a message, without a line break at its end. The namespace
// names the purpose, so that a signature is useless for any other.
func (s *Signer) Sign(namespace string, message io.Reader) (string, error) {
	sum, err := sumOf(sha512.New(), message)
	if err != nil {
		return "", err
	}
	text := append([]byte(magic), ssh.Marshal(signedData{namespace, "", usualHash, sum})...)
	algorithm := s.signer.PublicKey().Type()
	if algorithm == ssh.KeyAlgoRSA { // which would be SHA-1
		algorithm = ssh.KeyAlgoRSASHA512
	}
	signature, err := s.signer.SignWithAlgorithm(rand.Reader, text, algorithm)
	if err != nil {
		return "", err
	}
	body := append([]byte(magic), ssh.Marshal(blob{
		version, s.signer.PublicKey().Marshal(), namespace, "", usualHash, ssh.Marshal(signature),
	})...)
	armored := pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: body})
	return string(bytes.TrimSuffix(armored, []byte("\n"))), nil
}

// The first and the last line of an armored signature.
const (
	armorBegin = "-----BEGIN " + pemType + "-----\n"
	armorEnd   = "\n-----END " + pemType + "-----"
)

// dearmored returns the content of an armored signature, nil if it is not one. Like ssh-keygen it
// requires the first line at the beginning, and every bit of the base64 to count.
func dearmored(armored []byte) []byte {
	text, ok := bytes.CutPrefix(armored, []byte(armorBegin))
	if !ok {
		return nil
	}
	text, _, ok = bytes.Cut(text, []byte(armorEnd))
	if !ok {
		return nil
	}
	content, err := base64.StdEncoding.Strict().DecodeString(strings.NewReplacer(" ", "", "\t", "").Replace(string(text)))
	if err != nil {
		return nil
	}
	return content
}

// minRSA is the least size of an RSA key, in bits. ssh-keygen wants it too.
const minRSA = 1024

// checkAlgorithm returns an error for a key or an algorithm that no signature may have, and for a
// signature followed by something else.
func checkAlgorithm(key ssh.PublicKey, s ssh.Signature) error {
	if _, certificate := key.(*ssh.Certificate); certificate {
		return errors.New("the signature has a certificate, which is not supported")
	}
	if s.Format == ssh.KeyAlgoRSA || key.Type() == ssh.InsecureKeyAlgoDSA { //nolint:staticcheck // named to refuse it
		return fmt.Errorf("the signature has the algorithm %.40q, which is not secure", s.Format)
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && k.N.BitLen() < minRSA {
			return fmt.Errorf("the RSA key of the signature has %d bits, and needs %d", k.N.BitLen(), minRSA)
		}
	}
	if len(s.Rest) > 0 && !strings.HasPrefix(key.Type(), "sk-") { // whose flags and counter follow
		return errors.New("something follows the signature")
	}
	return nil
}

// Verify returns the key that made an armored signature of a message in a namespace.
// AllowedKeys.Principal returns whose key it is.
func Verify(namespace string, message io.Reader, armored []byte) (ssh.PublicKey, error) {
	content, ok := bytes.CutPrefix(dearmored(armored), []byte(magic))
	if !ok {
		return nil, errors.New("it is not an SSH signature")
	}
	var b blob
	if err := ssh.Unmarshal(content, &b); err != nil {
		return nil, fmt.Errorf("the signature cannot be read: %w", err)
	}
	hashes := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}
	switch {
	case b.Version != version:
		return nil, fmt.Errorf("the signature has version %d, not %d", b.Version, version)
	case b.Namespace != namespace:
		return nil, fmt.Errorf("the signature is for %.40q, not for %q", b.Namespace, namespace)
	case hashes[b.Hash] == nil:
		return nil, fmt.Errorf("the signature has the unknown hash %.40q", b.Hash)
	}
	key, err := ssh.ParsePublicKey(b.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("the key of the signature cannot be read: %w", err)
	}
	var signature ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &signature); err != nil {
		return nil, fmt.Errorf("the signature cannot be read: %w", err)
	}
	if err := checkAlgorithm(key, signature); err != nil {
		return nil, err
	}
	sum, err := sumOf(hashes[b.Hash](), message)
	if err != nil {
		return nil, err
	}
	text := append([]byte(magic), ssh.Marshal(signedData{namespace, b.Reserved, b.Hash, sum})...)
	if err := key.Verify(text, &signature); err != nil {
		return nil, errors.New("the signature is not of this text: it was changed, or signed with another key")
	}
	return key, nil
}
