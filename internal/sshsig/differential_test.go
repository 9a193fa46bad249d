package sshsig_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"evalctl/internal/longtest"
	"evalctl/internal/sshsig"
)

const (
	begin = "-----BEGIN SSH SIGNATURE-----\n"
	end   = "-----END SSH SIGNATURE-----"
	who   = "ci@example.org"
)

// ours returns an error unless this package accepts a signature.
func ours(allowed, message, armored string) error {
	list, err := sshsig.ReadAllowed(allowed)
	if err != nil {
		return err
	}
	key, err := sshsig.Verify(namespace, strings.NewReader(message), []byte(armored))
	if err != nil {
		return err
	}
	_, err = list.Principal(key, namespace, time.Now())
	return err
}

// theirs returns what ssh-keygen says if it refuses a signature.
func theirs(t *testing.T, allowed, principal, message, armored string) error {
	t.Helper()
	out, err := keygen(t, []byte(message), "-Y", "verify", "-f", allowed, "-I", principal, "-n", namespace, "-s", write(t, armored))
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
	}
	return nil
}

// never checks that a signature that ssh-keygen refuses is refused, and one that must is.
func never(t *testing.T, what, allowed, principal, message, armored string, refused bool) {
	t.Helper()
	got, want := ours(allowed, message, armored), theirs(t, allowed, principal, message, armored)
	if got == nil && want != nil {
		t.Errorf("%s: accepted, and ssh-keygen refuses it: %v", what, want)
	}
	if refused && got == nil {
		t.Errorf("%s: accepted", what)
	}
	if !refused && (got != nil || want != nil) {
		t.Errorf("%s: refused: %v; ssh-keygen: %v", what, got, want)
	}
}

// signature is the content of a signature that can be changed.
type signature struct {
	Magic                     [6]byte
	Version                   uint32
	PublicKey                 []byte
	Namespace, Reserved, Hash string
	Signature                 []byte
}

func content(t *testing.T, armored string) []byte {
	t.Helper()
	text := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(armored, begin)), end)
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func armor(data []byte) string {
	return begin + base64.StdEncoding.EncodeToString(data) + "\n" + end + "\n"
}

// TestSignaturesLikeOpenSSH changes signatures, and compares what is accepted with ssh-keygen.
func TestSignaturesLikeOpenSSH(t *testing.T) {
	const message = "a result\n"
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			file := newKey(t, kind)
			s, err := sshsig.Load(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			good, err := s.Sign(namespace, strings.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			good += "\n"
			allowed := write(t, who+" "+publicKey(t, file))
			data := content(t, good)
			changed := func(change func(s *signature, inner *ssh.Signature)) string {
				var b signature
				var inner ssh.Signature
				if err := ssh.Unmarshal(data, &b); err != nil {
					t.Fatal(err)
				}
				if err := ssh.Unmarshal(b.Signature, &inner); err != nil {
					t.Fatal(err)
				}
				b.Signature = nil
				change(&b, &inner)
				if b.Signature == nil {
					b.Signature = ssh.Marshal(inner)
				}
				return armor(ssh.Marshal(b))
			}
			base64Text := strings.TrimSuffix(strings.TrimPrefix(good, begin), "\n"+end+"\n")
			for what, c := range map[string]struct {
				armored string
				refused bool
			}{
				"good":                       {good, false},
				"without a last line end":    {strings.TrimSuffix(good, "\n"), false},
				"text after it":              {good + "more\n", false},
				"two":                        {good + good, false},
				"one line":                   {armor(data), false},
				"spaces in it":               {strings.Replace(good, base64Text, base64Text[:20]+" \t"+base64Text[20:], 1), false},
				"text before it":             {"x\n" + good, true},
				"a blank line before it":     {"\n" + good, true},
				"a header":                   {strings.Replace(good, begin, begin+"Comment: x\n\n", 1), true},
				"without an end":             {strings.Replace(good, end, "", 1), true},
				"end on the line":            {begin + base64Text + end + "\n", true},
				"another type":               {strings.ReplaceAll(good, "SSH SIGNATURE", "SIGNATURE"), true},
				"bad base64":                 {strings.Replace(good, base64Text, base64Text[:20]+"!"+base64Text[21:], 1), true},
				"bytes after the content":    {armor(append(bytes.Clone(data), 0)), true},
				"bytes after the signature":  {changed(func(_ *signature, s *ssh.Signature) { s.Rest = []byte{1} }), true},
				"five bytes after it":        {changed(func(_ *signature, s *ssh.Signature) { s.Rest = []byte{1, 0, 0, 0, 1} }), true},
				"bytes after the key":        {changed(func(b *signature, _ *ssh.Signature) { b.PublicKey = append(b.PublicKey, 0) }), true},
				"longer blob":                {changed(func(_ *signature, s *ssh.Signature) { s.Blob = append(s.Blob, 0) }), true},
				"shorter blob":               {changed(func(_ *signature, s *ssh.Signature) { s.Blob = s.Blob[:len(s.Blob)-1] }), true},
				"ssh-rsa":                    {changed(func(_ *signature, s *ssh.Signature) { s.Format = ssh.KeyAlgoRSA }), true},
				"another algorithm":          {changed(func(_ *signature, s *ssh.Signature) { s.Format = "none" }), true},
				"another version":            {changed(func(b *signature, _ *ssh.Signature) { b.Version = 2 }), true},
				"another namespace":          {changed(func(b *signature, _ *ssh.Signature) { b.Namespace = "git" }), true},
				"no namespace":               {changed(func(b *signature, _ *ssh.Signature) { b.Namespace = "" }), true},
				"something reserved":         {changed(func(b *signature, _ *ssh.Signature) { b.Reserved = "x" }), true},
				"another hash":               {changed(func(b *signature, _ *ssh.Signature) { b.Hash = "sha256" }), true},
				"SHA-1":                      {changed(func(b *signature, _ *ssh.Signature) { b.Hash = "sha1" }), true},
				"hash in capitals":           {changed(func(b *signature, _ *ssh.Signature) { b.Hash = "SHA512" }), true},
				"another magic":              {changed(func(b *signature, _ *ssh.Signature) { b.Magic[0] = 's' }), true},
				"an empty signature":         {changed(func(b *signature, _ *ssh.Signature) { b.Signature = []byte{} }), true},
				"line ends of another world": {strings.ReplaceAll(good, "\n", "\r\n"), true},
			} {
				never(t, what, allowed, who, message, c.armored, c.refused)
			}
			// Bits after the last byte must be zero.
			if strings.HasSuffix(base64Text, "=") {
				at := strings.IndexByte(base64Text, '=') - 1
				const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
				next := alphabet[strings.IndexByte(alphabet, base64Text[at])|1]
				never(t, "bits at the end", allowed, who, message, begin+base64Text[:at]+string(next)+base64Text[at+1:]+"\n"+end+"\n", true)
			}
			random := mathrand.New(mathrand.NewPCG(7, uint64(len(kind))))
			for range longtest.Rounds(40, 2000) {
				text := []byte(good)
				at := random.IntN(len(text))
				switch random.IntN(3) {
				case 0:
					text[at] = byte(random.IntN(256))
				case 1:
					text = append(text[:at], text[at+1:]...)
				case 2:
					text = append(text[:at:at], append([]byte{byte(random.IntN(128))}, text[at:]...)...)
				}
				if got := ours(allowed, message, string(text)); got == nil {
					if want := theirs(t, allowed, who, message, string(text)); want != nil {
						t.Errorf("accepted, and ssh-keygen refuses it: %v\n%s", want, text)
					}
				}
			}
		})
	}
}

// TestAllowedSignersLikeOpenSSH changes lines of allowed signers in the same way.
func TestAllowedSignersLikeOpenSSH(t *testing.T) {
	const message = "a result\n"
	file := newKey(t, "ed25519")
	s, err := sshsig.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	armored, err := s.Sign(namespace, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	armored += "\n"
	key := strings.TrimSpace(publicKey(t, file))
	kind, encoded, _ := strings.Cut(key, " ")
	other := strings.TrimSpace(publicKey(t, newKey(t, "ed25519")))
	for line, refused := range map[string]bool{
		who + " " + key:                                                false,
		"  " + who + "\t" + key + " a comment":                         false,
		`"` + who + `" ` + key:                                         false,
		"# comment\n\n" + who + " " + key:                              false,
		"x@y " + other + "\n" + who + " " + key:                        false,
		"*@example.org " + key:                                         false,
		who + ` namespaces="evalctl-*" ` + key:                         false,
		who + ` namespaces="git,evalctl-resul?" ` + key:                false,
		who + ` NAMESPACES="evalctl-result" ` + key:                    false,
		who + ` valid-after="20200101",valid-before="29990101" ` + key: false,
		who + ` valid-after="20200101Z" ` + key:                        false,
		who + ` valid-after="20200101z" ` + key:                        false,
		who + ` valid-after="20200101UTC" ` + key:                      false,
		who + ` valid-before="299901011200utc" ` + key:                 false,
		who + ` valid-after="20200101120000Utc" ` + key:                false,
		"# comment\r\n\r\n" + who + " " + key + "\r":                   false,
		"\r\n" + who + " " + key:                                       false,
		who + " " + key + "\r\n \t\r":                                  false,

		"!" + who + " " + key:                                          true,
		who + ",!" + who + " " + key:                                   true,
		"*,!* " + key:                                                  true,
		"!*@example.org,*@example.org " + key:                          true,
		who + ` namespaces="" ` + key:                                  true,
		who + ` namespaces="git" ` + key:                               true,
		who + ` namespaces="*,!evalctl-result" ` + key:                 true,
		who + ` namespaces="*,!evalctl*" ` + key:                       true,
		who + ` namespaces=evalctl-result ` + key:                      true,
		who + ` namespaces="evalctl-result ` + key:                     true,
		who + ` namespaces="Evalctl-Result" ` + key:                    true,
		who + ` namespaces="evalctl-result",namespaces="git" ` + key:   true,
		who + ` namespaces="evalctl-result"x ` + key:                   true,
		who + ` valid-after="29990101" ` + key:                         true,
		who + ` valid-before="20200101" ` + key:                        true,
		who + ` valid-before="2020010" ` + key:                         true,
		who + ` valid-before=29990101 ` + key:                          true,
		who + ` valid-after="20200101ZZ" ` + key:                       true,
		who + ` valid-after="20200101UTCZ" ` + key:                     true,
		who + ` valid-after="29990101utc" ` + key:                      true,
		who + ` valid-after="UTC" ` + key:                              true,
		who + ` valid-after="29990101",valid-before="20200101" ` + key: true,
		who + ` cert-authority ` + key:                                 true,
		who + ` no-touch-required ` + key:                              true,
		who + ` unknown="x" ` + key:                                    true,
		who + ", " + key:                                               true,
		who + " ssh-rsa " + encoded:                                    true,
		who + " nothing " + encoded:                                    true,
		who + " " + kind + " " + encoded + "A":                         true,
		who + " " + kind + " " + encoded[:len(encoded)-4]:              true,
		who + " " + kind:                                               true,
		who:                                                            true,
		key:                                                            true,
		"x@y\n" + who + " " + key:                                      true,
		"\r" + who + " " + key:                                         true,
	} {
		never(t, line, write(t, line+"\n"), who, message, armored, refused)
	}
	random := mathrand.New(mathrand.NewPCG(8, 8))
	lines := []string{
		who + ` namespaces="evalctl-*,!git" ` + key, `"` + who + `,!x" valid-after="20200101Z",valid-before="29990101" ` + key, who + " " + key,
	}
	for range longtest.Rounds(60, 3000) {
		text := []byte(lines[random.IntN(len(lines))])
		at := random.IntN(len(text) - len(key) + 20)
		switch random.IntN(3) {
		case 0:
			text[at] = []byte("\" \t!*,=?\\#\r")[random.IntN(11)]
		case 1:
			text = append(text[:at], text[at+1:]...)
		case 2:
			text = append(text[:at:at], append([]byte{[]byte("\" \t!*,=?\\#\r")[random.IntN(11)]}, text[at:]...)...)
		}
		allowed := write(t, string(text)+"\n")
		if ours(allowed, message, armored) != nil {
			continue
		}
		// Whom it accepts is a pattern of the line: any principal of it will do.
		if !anyPrincipal(t, allowed, message, armored) {
			t.Errorf("accepted, and ssh-keygen refuses it: %q", text)
		}
	}
}

// anyPrincipal reports whether ssh-keygen accepts a signature of somebody.
func anyPrincipal(t *testing.T, allowed, message, armored string) bool {
	t.Helper()
	out, err := keygen(t, []byte(message), "-Y", "find-principals", "-f", allowed, "-n", namespace, "-s", write(t, armored))
	if err != nil {
		return false
	}
	for list := range strings.Lines(out) {
		for pattern := range strings.SplitSeq(strings.TrimRight(list, "\n"), ",") {
			somebody := strings.NewReplacer("*", "x", "?", "x").Replace(pattern)
			if theirs(t, allowed, somebody, message, armored) == nil {
				return true
			}
		}
	}
	return false
}

// TestSmallRSA checks that a key that is too small is refused.
func TestSmallRSA(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0")
	private, err := rsa.GenerateKey(rand.Reader, 768)
	if err != nil {
		t.Skip("this Go makes no small keys:", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	sum := []byte(strings.Repeat("x", 64))
	signed, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, sum, ssh.KeyAlgoRSASHA512)
	if err != nil {
		t.Skip("this Go does not sign with small keys:", err)
	}
	b := signature{
		Magic: [6]byte([]byte("SSHSIG")), Version: 1, PublicKey: signer.PublicKey().Marshal(), Namespace: namespace, Hash: "sha512",
		Signature: ssh.Marshal(signed),
	}
	_, err = sshsig.Verify(namespace, strings.NewReader("x"), []byte(armor(ssh.Marshal(b))))
	if err == nil || !strings.Contains(err.Error(), "768 bits") {
		t.Error(err)
	}
}
