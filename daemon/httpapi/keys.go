package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/time/rate"

	"evalctl/daemon/brain"
	"evalctl/internal/yamlfile"
)

// AllBrains in a key's list of brains means every brain of its tenant.
const AllBrains = "*"

// Key is one entry of a keys file. It contains no secret: tokens are 256 random bits, so a token
// cannot be found from its hash.
type Key struct {
	// Name is logged, and unique in its file. Name and Tenant have 1 to 64 characters of A-Z, a-z,
	// 0-9, dot, underscore and hyphen.
	Name   string `yaml:"name" json:"name"`
	Tenant string `yaml:"tenant" json:"tenant"`
	// SHA256 is the hash of the token, in hexadecimal.
	SHA256 string `yaml:"sha256" json:"sha256"`
	// Brains are ids, or AllBrains.
	Brains []string `yaml:"brains,flow" json:"brains"`
	// Roles and Scopes are added up. See the functions of these names.
	Roles  []string `yaml:"roles,flow,omitempty" json:"roles,omitempty"`
	Scopes []string `yaml:"scopes,flow,omitempty" json:"scopes,omitempty"`
	// Rate limits the key's requests. Nil means no limit.
	Rate *Rate `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Created is for operators.
	Created KeyTime `yaml:"created,omitempty" json:"created,omitzero"`
	// Expires is the time from which on the key is invalid. Zero means never.
	Expires KeyTime `yaml:"expires,omitempty" json:"expires,omitzero"`
	// Revoked is when the key was withdrawn. A key with any value other than zero is invalid.
	Revoked KeyTime `yaml:"revoked,omitempty" json:"revoked,omitzero"`
}

// Expired reports whether the key has ended by itself.
func (k Key) Expired(now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires.Time)
}

// ID returns the beginning of the hash, which identifies the key in lists and files.
func (k Key) ID() string { return strings.ToLower(k.SHA256)[:keyIDLength] }

const keyIDLength = 16

// Rate permits PerSecond requests a second on average, and Burst at once.
type Rate struct {
	PerSecond float64 `yaml:"per_second" json:"per_second"`
	Burst     int     `yaml:"burst" json:"burst"`
}

// keysVersion is the newest version of a keys file that this package reads. Version 2 added the
// times of keys.
const keysVersion = 2

// keysFile is a whole keys file. A file without a version has version 1.
type keysFile struct {
	Version int   `yaml:"version,omitempty" json:"version,omitempty"`
	Keys    []Key `yaml:"keys" json:"keys"`
}

// Keys authorize the requests of an API. They are safe for concurrent use. A KeysFile replaces them
// while they are in use.
type Keys struct{ current atomic.Pointer[[]*caller] }

// callers returns the keys in force. They do not change.
func (k *Keys) callers() []*caller {
	if list := k.current.Load(); list != nil {
		return *list
	}
	return nil
}

// caller is a key in use.
type caller struct {
	Key
	sum     [sha256.Size]byte
	grants  map[scope]bool
	limiter *rate.Limiter // nil: no limit
	// used is when the key last authorized a request, in seconds of Unix time.
	used *atomic.Int64
	// inForce ends when the key is changed, revoked or removed.
	inForce context.Context
	end     context.CancelFunc
}

// NewToken returns a new bearer token: a prefix by which scanners for leaked secrets recognize it,
// and 32 random bytes.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return "evk_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashToken returns the Key.SHA256 of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ParseKeys parses the content of a keys file, which is YAML or JSON. Unknown fields, roles and
// scopes, names or tokens used twice, and a version above keysVersion are errors. They contain the
// name of the file and the line.
func ParseKeys(name string, data []byte) (*Keys, error) {
	var file keysFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, keysError(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document", name)
	}
	if file.Version < 0 || file.Version > keysVersion {
		return nil, fmt.Errorf("%s: version %d of keys files is not supported, this evalctl reads up to %d: "+
			"use a newer evalctl", name, file.Version, keysVersion)
	}
	lines, err := keyLines(data)
	if err != nil {
		return nil, keysError(name, err)
	}
	if len(lines) != len(file.Keys) {
		return nil, fmt.Errorf("%s: an entry of keys is empty", name) // Decode drops null
	}
	list := make([]*caller, 0, len(file.Keys))
	for i, k := range file.Keys {
		c, err := newCaller(k)
		if err == nil {
			err = collision(list, c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: key %q: %w", name, lines[i], k.Name, err)
		}
		list = append(list, c)
	}
	keys := &Keys{}
	keys.current.Store(&list)
	return keys, nil
}

// List returns the keys in the order of their file.
func (k *Keys) List() []Key {
	callers := k.callers()
	list := make([]Key, len(callers))
	for i, c := range callers {
		list[i] = c.Key
	}
	return list
}

// keyLines returns the line where each key begins.
func keyLines(data []byte) ([]int, error) {
	var file struct {
		Keys []yaml.Node `yaml:"keys"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	lines := make([]int, len(file.Keys))
	for i, node := range file.Keys {
		lines[i] = node.Line
	}
	return lines, nil
}

var yamlField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`field (\S+) not found in type \S+`)
})

// keysError converts an error of the YAML package to one with file name and line.
func keysError(name string, err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = e.Errors[0]
	}
	return yamlfile.Syntax(name, errors.New(yamlField().ReplaceAllString(text, "unknown field $1")))
}

var labelForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
})

// isLabel reports whether a key or a tenant can have the name.
func isLabel(name string) bool { return len(name) <= 64 && labelForm().MatchString(name) }

func newCaller(k Key) (*caller, error) {
	c := &caller{Key: k, grants: map[scope]bool{}, used: new(atomic.Int64)}
	c.inForce, c.end = context.WithCancel(context.Background())
	if !isLabel(k.Name) || !isLabel(k.Tenant) {
		return nil, fmt.Errorf("name and tenant %q must have 1 to 64 characters of A-Z, a-z, 0-9, "+
			"'.', '_' and '-'", k.Tenant)
	}
	sum, err := hex.DecodeString(k.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("sha256 must be %d hexadecimal digits: the token's hash, never the token",
			hex.EncodedLen(sha256.Size))
	}
	copy(c.sum[:], sum)
	if len(k.Brains) == 0 {
		return nil, fmt.Errorf("brains is missing: list ids, or %q for all of the tenant's", AllBrains)
	}
	for _, id := range k.Brains {
		if id != AllBrains && !brain.ValidID(id) {
			return nil, fmt.Errorf("brain %q is neither an id nor %q", id, AllBrains)
		}
	}
	if err := c.grant(); err != nil {
		return nil, err
	}
	if k.Rate != nil {
		// Not <= 0, which is false for NaN.
		if !(k.Rate.PerSecond > 0) || math.IsInf(k.Rate.PerSecond, 0) || k.Rate.Burst < 1 {
			return nil, errors.New("rate needs per_second above 0 and burst of at least 1")
		}
		c.limiter = rate.NewLimiter(rate.Limit(k.Rate.PerSecond), k.Rate.Burst)
	}
	return c, nil
}

// grant sets the scopes that the key's roles and scopes add up to.
func (c *caller) grant() error {
	for _, role := range c.Roles {
		scopes, ok := roles[role]
		if !ok {
			return fmt.Errorf("role %q is not one of %s", role, strings.Join(Roles(), ", "))
		}
		for _, s := range scopes {
			c.grants[s] = true
		}
	}
	for _, s := range c.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fmt.Errorf("scope %q is not one of %s", s, strings.Join(Scopes(), ", "))
		}
		c.grants[scope(s)] = true
	}
	if len(c.grants) == 0 {
		return errors.New("it has neither roles nor scopes, so it may do nothing")
	}
	return nil
}

// collision rejects a key with the name or token of another one: a log line or a request would not
// identify one key.
func collision(list []*caller, c *caller) error {
	for _, other := range list {
		if other.Name == c.Name {
			return errors.New("this name is taken")
		}
		if other.sum == c.sum {
			return fmt.Errorf("key %q has the same token", other.Name)
		}
	}
	return nil
}

// find returns the key of a token, or nil. Its time depends only on the length of the token: it
// compares the hash with the hashes of all keys, and does not branch on the outcome.
func (k *Keys) find(token string) *caller {
	sum := sha256.Sum256([]byte(token))
	found := -1
	list := k.callers()
	for i, c := range list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], c.sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return list[found]
}

// replace puts the keys of next in force. Running requests keep the key that they began with. A key
// that is the same in both stays in force; the change streams of all others end.
func (k *Keys) replace(next *Keys) {
	old := map[[sha256.Size]byte]*caller{}
	for _, c := range k.callers() {
		old[c.sum] = c
	}
	list := slices.Clone(next.callers())
	for i, c := range list {
		was := old[c.sum]
		if was == nil {
			continue
		}
		if reflect.DeepEqual(was.Key, c.Key) {
			list[i] = was
			delete(old, c.sum)
			continue
		}
		c.used = was.used
		if reflect.DeepEqual(was.Rate, c.Rate) {
			c.limiter = was.limiter
		}
	}
	k.current.Store(&list)
	for _, c := range old {
		c.end()
	}
}
