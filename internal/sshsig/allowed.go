package sshsig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Allowed are the keys of a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS).
type Allowed struct {
	file string
	keys []allowedKey
}

type allowedKey struct {
	principals    string
	namespaces    string // a list of patterns, empty for all
	after, before time.Time
	key           ssh.PublicKey
}

// ReadAllowed reads a file of allowed signers. Certificates are not supported: a line with
// cert-authority is an error, and so is one that cannot be read.
func ReadAllowed(file string) (*Allowed, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a := &Allowed{file: file}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		k, err := parseAllowed(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		a.keys = append(a.keys, k)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(a.keys) == 0 {
		return nil, fmt.Errorf("%s has no keys; a line is PRINCIPAL KEY, with the public key of who signs", file)
	}
	return a, nil
}

func parseAllowed(line string) (k allowedKey, err error) {
	rest := ""
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		k.principals, rest, _ = strings.Cut(quoted, `"`)
	} else if i := strings.IndexAny(line, " \t"); i > 0 {
		k.principals, rest = line[:i], line[i:]
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(rest)))
	if err != nil || k.principals == "" {
		return k, errors.New("it is not PRINCIPAL [OPTIONS] KEY")
	}
	k.key = key
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "namespaces":
			k.namespaces = value
		case "valid-after":
			k.after, err = parseTime(value)
		case "valid-before":
			k.before, err = parseTime(value)
		default:
			err = fmt.Errorf("the option %.40q is not supported", name)
		}
		if err != nil {
			return k, err
		}
	}
	return k, nil
}

// parseTime reads the times of ssh-keygen: in UTC with a Z, else in the local zone.
func parseTime(s string) (time.Time, error) {
	zone, digits := time.Local, s
	if d, ok := strings.CutSuffix(s, "Z"); ok {
		zone, digits = time.UTC, d
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil && len(layout) == len(digits) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 20260131", s)
}

// Principal returns who may sign with a key in a namespace at a time.
func (a *Allowed) Principal(key ssh.PublicKey, namespace string, at time.Time) (string, error) {
	reason := "is not in " + a.file
	for _, k := range a.keys {
		switch {
		case !bytes.Equal(k.key.Marshal(), key.Marshal()):
		case k.namespaces != "" && !matches(k.namespaces, namespace):
			reason = fmt.Sprintf("may not sign %s, by %s", namespace, a.file)
		case !k.after.IsZero() && at.Before(k.after), !k.before.IsZero() && !at.Before(k.before):
			reason = "is not valid now, by " + a.file
		default:
			return k.principals, nil
		}
	}
	return "", fmt.Errorf("the key %s %s", ssh.FingerprintSHA256(key), reason)
}

// matches reports whether a list of patterns has a text: patterns with ! exclude it.
func matches(list, text string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, exclude := strings.CutPrefix(pattern, "!")
		// Only * and ? are special there.
		ok, err := path.Match(strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(pattern), text)
		if err != nil || !ok {
			continue
		}
		if exclude {
			return false
		}
		found = true
	}
	return found
}
