package httpapi

import (
	"fmt"
	"time"
)

// IssueKey adds a key with a new token to a keys file, see AddKey, and passes the token to deliver,
// the only time that it is known. A key that names no brains is for all brains of its tenant.
// expires is a text as in ParseExpiry, empty for never. An error of deliver leaves the file
// unchanged.
func IssueKey(file string, k Key, expires string, now time.Time, deliver func(token string) error) error {
	if len(k.Brains) == 0 {
		k.Brains = []string{AllBrains}
	}
	if expires != "" {
		var err error
		if k.Expires, err = ParseExpiry(expires, now); err != nil {
			return fmt.Errorf("--expires: %w", err)
		}
	}
	token := NewToken()
	k.SHA256, k.Created = HashToken(token), NewKeyTime(now)
	return AddKey(file, k, func() error {
		if err := deliver(token); err != nil {
			return fmt.Errorf("print the token: %w: key %q was not added to %s", err, k.Name, file)
		}
		return nil
	})
}

// Status returns whether the key is valid: valid, revoked or expired.
func (k Key) Status(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case k.Expired(now):
		return "expired"
	}
	return "valid"
}
