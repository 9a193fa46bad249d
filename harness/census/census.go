// Package census decides whether a brain that a daemon returned for a creation is new. A daemon
// may return a brain that it had before, such as the only one of its user. Nobody may write to
// such a brain or delete it.
package census

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Reasons why a brain is not new.
var (
	ErrOld    = errors.New("which it had before")
	ErrShared = errors.New("but its brains share their documents")
)

// Lister gets the list of a daemon's brains, or of all documents of a brain, if one is given. It
// returns the status, which is 0 if there was no reply, and the body.
type Lister func(ctx context.Context, brain string) (status int, body []byte)

// Census has the brains that a daemon lists before a creation.
type Census struct {
	list   Lister
	before map[string][]string // what each is called, by id; nil if they are not listed
}

// Take lists the brains of a daemon.
func Take(ctx context.Context, list Lister) *Census {
	c := &Census{list: list}
	c.before = c.brains(ctx)
	return c
}

// Had reports whether the daemon had a brain with an id. A nil census has none.
func (c *Census) Had(id string) bool {
	if c == nil {
		return false
	}
	_, had := c.before[id]
	return had
}

// Calls reports whether name is the id of a brain or what the list of brains calls it.
func (c *Census) Calls(id, name string) bool {
	return id == name || slices.Contains(c.before[id], name)
}

// Forget removes a brain that was deleted. The list may still have it.
func (c *Census) Forget(id string) { delete(c.before, id) }

// New returns an error unless the brain with an id, which was created since, is new. It is
// ErrOld or ErrShared. A new brain may have documents that the daemon adds to every brain. A
// daemon that lists neither brains nor documents is trusted.
func (c *Census) New(ctx context.Context, id string) error {
	if c.Had(id) {
		return ErrOld
	}
	docs := c.documents(ctx, id)
	if len(docs) == 0 {
		return nil
	}
	if len(c.documents(ctx, strings.ToLower("none-"+rand.Text()))) > 0 {
		return fmt.Errorf("%w: it also lists %q in a brain that does not exist", ErrShared, docs[0])
	}
	if !c.Shows(ctx, id) {
		return fmt.Errorf("%w: it contains %q", ErrOld, docs[0])
	}
	return nil
}

// Shows reports whether the list of brains has an id now, but had not before. The lists of some
// daemons are incomplete: if they lack even a new brain, they prove nothing.
func (c *Census) Shows(ctx context.Context, id string) bool {
	return c.before != nil && !has(c.before, id) && has(c.brains(ctx), id)
}

// has reports whether brains have an id, or one is called so: some daemons take slugs for ids.
func has(brains map[string][]string, id string) bool {
	for other, names := range brains {
		if other == id || slices.Contains(names, id) {
			return true
		}
	}
	return false
}

func (c *Census) brains(ctx context.Context) map[string][]string {
	status, body := c.list(ctx, "")
	items, ok := itemsOf(status, body)
	if !ok {
		return nil
	}
	found := map[string][]string{}
	for _, o := range items {
		found[text(o, "id", "brain_id", "brainId", "slug", "name")] = []string{text(o, "slug"), text(o, "name")}
	}
	return found
}

// documents returns the paths of a brain's documents, without hidden and generated files.
func (c *Census) documents(ctx context.Context, brain string) (paths []string) {
	status, body := c.list(ctx, brain)
	if status == http.StatusRequestEntityTooLarge {
		return []string{"more documents than a listing may contain"}
	}
	items, _ := itemsOf(status, body)
	for _, o := range items {
		p := text(o, "path")
		own := func(segment string) bool { return strings.HasPrefix(segment, ".") || strings.HasPrefix(segment, "_") }
		if p != "" && !strings.HasSuffix(p, "/") && !slices.ContainsFunc(strings.Split(p, "/"), own) {
			paths = append(paths, p)
		}
	}
	return paths
}

// itemsOf returns the objects of a list. Some daemons return a bare array or use another key.
func itemsOf(status int, body []byte) (items []map[string]any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var reply any
	if status/100 != 2 || decoder.Decode(&reply) != nil {
		return nil, false
	}
	list, ok := reply.([]any)
	if o, isObject := reply.(map[string]any); isObject {
		for _, key := range []string{"documents", "brains", "items"} {
			if named, isList := o[key].([]any); isList {
				list, ok = named, true
			}
		}
	}
	for _, item := range list {
		if o, isObject := item.(map[string]any); isObject {
			items = append(items, o)
		}
	}
	return items, ok
}

// text returns the first of keys that is a text or a number.
func text(o map[string]any, keys ...string) string {
	for _, key := range keys {
		switch v := o[key].(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}
