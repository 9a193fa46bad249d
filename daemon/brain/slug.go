package brain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/protocol"
)

// checkID applies the slug rule of spec section 2 to an id or a slug. Ids are used as folder names,
// so no character outside this alphabet may pass.
func checkID(name, id string) error {
	if id == "" || len(id) > protocol.MaxBrainSlug {
		return &ArgumentError{name, fmt.Sprintf("must have 1 to %d characters", protocol.MaxBrainSlug)}
	}
	for i := range len(id) {
		if !isSlugByte(id[i]) && (id[i] != '-' || i == 0) {
			return &ArgumentError{name, fmt.Sprintf("%q is not made of a-z, 0-9 and -, starting with a letter or digit", id)}
		}
	}
	return nil
}

// ValidID reports whether a brain can have the id.
func ValidID(id string) bool { return checkID("id", id) == nil }

func isSlugByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// Slug derives a slug from a name, the same one each time: letters a-z in lower case, without their
// accents, and digits stay, and every run of other characters becomes one hyphen. A name without
// any usable character becomes kind, a hyphen and a hash of the name.
func Slug(kind, name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case c < utf8.RuneSelf && isSlugByte(byte(c)):
			b.WriteByte(byte(c))
		case unicode.Is(unicode.Mn, c): // an accent of the letter before it
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	slug := b.String()
	slug = strings.TrimRight(slug[:min(len(slug), protocol.MaxBrainSlug)], "-")
	if slug == "" {
		sum := sha256.Sum256([]byte(name))
		slug = kind + "-" + hex.EncodeToString(sum[:6])
	}
	return slug
}

// uniqueName returns an unused name of a folder that begins like one that is taken.
func uniqueName(id string) string {
	suffix := "-" + strings.ToLower(rand.Text())
	return id[:min(len(id), protocol.MaxBrainSlug-len(suffix))] + suffix
}

// newBrain returns the brain that a request describes, without CreatedAt. A missing id or slug
// follows from the other, or from the name; a missing name is the id.
func newBrain(r protocol.CreateBrain) (protocol.Brain, error) {
	b := protocol.Brain{ID: r.ID, Slug: r.Slug, Name: r.Name, Visibility: r.Visibility}
	if b.Name == "" && b.ID == "" && b.Slug == "" {
		return b, &ArgumentError{"name", "is missing"}
	}
	if b.Slug == "" && b.ID != "" {
		if err := checkID("id", b.ID); err != nil {
			return b, err
		}
		b.Slug = b.ID
	}
	if b.Slug == "" {
		b.Slug = Slug("brain", b.Name)
	}
	if b.ID == "" {
		b.ID = b.Slug
	}
	if b.Name == "" {
		b.Name = b.ID
	}
	if b.Visibility == "" {
		b.Visibility = protocol.VisibilityPrivate
	}
	return b, checkBrain(b)
}

func checkBrain(b protocol.Brain) error {
	// The slug first: an id that was not given equals the slug.
	if err := checkID("slug", b.Slug); err != nil {
		return err
	}
	if err := checkID("id", b.ID); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(b.Name); n > protocol.MaxBrainName {
		return &ArgumentError{"name", fmt.Sprintf("has %d characters, the limit is %d", n, protocol.MaxBrainName)}
	}
	switch b.Visibility {
	case protocol.VisibilityPrivate, protocol.VisibilityTenant, protocol.VisibilityPublic:
		return nil
	}
	return &ArgumentError{"visibility", fmt.Sprintf("%q is not one of private, tenant, public", b.Visibility)}
}
