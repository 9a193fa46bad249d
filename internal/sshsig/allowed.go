package sshsig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"evalctl/internal/inputfile"
)

// AllowedKeys are the keys of a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS).
type AllowedKeys struct {
	file string
	keys []allowedKey
}

type allowedKey struct {
	principals    string
	namespaces    *string // a list of patterns, nil for all
	after, before time.Time
	key           ssh.PublicKey
}

// ReadAllowed reads a file of allowed signers. Certificates are not supported: a line with
// cert-authority is an error, and so is an unreadable line.
func ReadAllowed(file string) (*AllowedKeys, error) {
	data, err := inputfile.ReadText(file, inputfile.Small)
	if err != nil {
		return nil, err
	}
	a := &AllowedKeys{file: file}
	n := 0
	for line := range strings.SplitSeq(string(data), "\n") { // ssh-keygen knows no other end of a line
		n++
		line = strings.TrimLeft(line, " \t")
		if strings.Trim(line, " \t\r") == "" || line[0] == '#' {
			continue
		}
		k, err := parseAllowed(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		a.keys = append(a.keys, k)
	}
	if len(a.keys) == 0 {
		return nil, fmt.Errorf("%s has no keys; a line is PRINCIPAL KEY, with the public key of who signs", file)
	}
	return a, nil
}

// errForm is the error of a line that has another form.
var errForm = errors.New("it is not PRINCIPAL [OPTIONS] KEY")

// parseAllowed parses a line as ssh-keygen does, and refuses the same lines.
func parseAllowed(line string) (k allowedKey, err error) {
	rest, ok := "", false
	if quoted, isQuoted := strings.CutPrefix(line, `"`); isQuoted {
		k.principals, rest, ok = strings.Cut(quoted, `"`)
	} else if i := strings.IndexAny(line, " \t"); i > 0 {
		k.principals, rest, ok = line[:i], line[i:], true
	}
	if !ok || k.principals == "" || strings.ContainsAny(k.principals, "\"\r") || strings.Contains(line, "\x00") {
		return k, errForm
	}
	if !anybody(k.principals) {
		return k, fmt.Errorf("no principal matches %.60q", k.principals)
	}
	rest = strings.TrimLeft(rest, " \t")
	if k.key, ok = parseKey(rest); ok {
		return k, nil
	}
	options, rest, ok := cutOptions(rest)
	if !ok {
		return k, errForm
	}
	if k.key, ok = parseKey(strings.TrimLeft(rest, " \t")); !ok {
		return k, errForm
	}
	return k, k.set(options)
}

// parseKey parses TYPE BASE64 [COMMENT].
func parseKey(text string) (ssh.PublicKey, bool) {
	kind, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	encoded, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	content, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(encoded, "\r"))
	if err != nil {
		return nil, false
	}
	key, err := ssh.ParsePublicKey(content)
	if err != nil || key.Type() != kind {
		return nil, false
	}
	_, certificate := key.(*ssh.Certificate)
	return key, !certificate
}

// cutOptions cuts a text after its options, which end at a space outside quotes. They are names, or
// NAME="VALUE" with \" for a quote, with commas between them.
func cutOptions(text string) (options []string, rest string, ok bool) {
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			options, from = append(options, text[from:i]), i+1
		case c == ' ', c == '\t':
			return append(options, text[from:i]), text[i:], true
		}
	}
	return nil, "", false
}

// set sets the options of a key.
func (k *allowedKey) set(options []string) (err error) {
	seen := map[string]bool{}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		name = strings.ToLower(name)
		if seen[name] {
			return fmt.Errorf("the option %.40q is given twice", name)
		}
		seen[name] = true
		value, quoted := strings.CutPrefix(value, `"`)
		value, ended := strings.CutSuffix(value, `"`)
		inner := strings.ReplaceAll(value, `\"`, "")
		if name != "cert-authority" && (!quoted || !ended || strings.Contains(inner, `"`)) {
			return fmt.Errorf(`the option %.40q is not NAME="VALUE"`, name)
		}
		value = strings.ReplaceAll(value, `\"`, `"`)
		switch name {
		case "namespaces":
			k.namespaces = &value
		case "valid-after":
			k.after, err = parseTime(value)
		case "valid-before":
			k.before, err = parseTime(value)
		default:
			err = fmt.Errorf("the option %.40q is not supported", name)
		}
		if err != nil {
			return err
		}
	}
	if !k.after.IsZero() && !k.before.IsZero() && !k.after.Before(k.before) {
		return errors.New("the key is valid at no time: valid-before is not after valid-after")
	}
	return nil
}

// parseTime reads the times of ssh-keygen: in UTC with a Z or UTC in any case, else in the local
// zone.
func parseTime(s string) (time.Time, error) {
	zone, digits := time.Local, strings.ToUpper(s)
	for _, name := range []string{"Z", "UTC"} {
		if d, ok := strings.CutSuffix(digits, name); ok {
			zone, digits = time.UTC, d
			break
		}
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil && len(layout) == len(digits) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 20260131", s)
}

// Principal returns who may sign with a key in a namespace at a time.
func (a *AllowedKeys) Principal(key ssh.PublicKey, namespace string, at time.Time) (string, error) {
	reason := "is not in " + a.file
	for _, k := range a.keys {
		switch {
		case !bytes.Equal(k.key.Marshal(), key.Marshal()):
		case k.namespaces != nil && !matches(*k.namespaces, namespace):
			reason = fmt.Sprintf("may not sign %s, by %s", namespace, a.file)
		case !k.after.IsZero() && at.Before(k.after), !k.before.IsZero() && !at.Before(k.before):
			reason = "is not valid now, by " + a.file
		default:
			return k.principals, nil
		}
	}
	return "", fmt.Errorf("the key %s %s", ssh.FingerprintSHA256(key), reason)
}

// anybody reports whether a list of patterns of principals has somebody. ssh-keygen refuses some
// lists with an empty pattern.
func anybody(list string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		if pattern == "" {
			return false
		}
		one := strings.NewReplacer("*", "x", "?", "x").Replace(pattern)
		found = found || pattern[0] != '!' && matches(list, one)
	}
	return found
}

// matches reports whether a list of patterns has a text: patterns with ! exclude it.
func matches(list, text string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, exclude := strings.CutPrefix(pattern, "!")
		if !fits(pattern, text) {
			continue
		}
		if exclude {
			return false
		}
		found = true
	}
	return found
}

// fits reports whether a pattern with * and ? fits a text, byte by byte.
func fits(pattern, text string) bool {
	star, retry := -1, 0 // where the last * is, and where in text to go on if it takes one byte more
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			retry++
			p, t = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
