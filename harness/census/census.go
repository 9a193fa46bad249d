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
	"slices"
	"strings"
)

// Reasons why a brain is not new.
var (
	ErrOld    = errors.New("which it had before")
	ErrShared = errors.New("but its brains share their documents")
)

// ErrMany is the error of a list that is too long to be sent.
var ErrMany = errors.New("the list is too long")

// Lister gets the list of a daemon's brains, or of all documents of a brain, if one is given. The
// list is nil if the daemon has none, which is different from one that could not be read.
type Lister func(ctx context.Context, brain string) (list []byte, err error)

// Census has the brains that a daemon lists before a creation.
type Census struct {
	list   Lister
	before map[string][]string // what each is called, by each of its ids; nil if they are not listed
}

// Take lists the brains of a daemon.
func Take(ctx context.Context, list Lister) (*Census, error) {
	c := &Census{list: list}
	var err error
	if c.before, err = c.brains(ctx); err != nil {
		return nil, fmt.Errorf("find out which brains there are: %w", err)
	}
	return c, nil
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

// Forget removes a brain that was deleted, which a list may still have.
func (c *Census) Forget(id string) { delete(c.before, id) }

// New returns an error unless the brain with an id, which was created since, is new: ErrOld,
// ErrShared, or the error of a list. A new brain may have documents that the daemon adds to every
// brain. A daemon that lists neither brains nor documents is trusted.
func (c *Census) New(ctx context.Context, id string) error {
	if c.Had(id) {
		return ErrOld
	}
	docs, err := c.documents(ctx, id)
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return nil
	}
	others, err := c.documents(ctx, strings.ToLower("none-"+rand.Text()))
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("%w: it also lists %q in a brain that does not exist", ErrShared, docs[0])
	}
	listed, err := c.shows(ctx, id)
	if err == nil && !listed {
		return fmt.Errorf("%w: it contains %q", ErrOld, docs[0])
	}
	return err
}

// Shows reports whether the list of brains has an id now, but had not before. The lists of some
// daemons are incomplete: if they lack even a new brain, they prove nothing.
func (c *Census) Shows(ctx context.Context, id string) bool {
	listed, err := c.shows(ctx, id)
	return err == nil && listed
}

func (c *Census) shows(ctx context.Context, id string) (bool, error) {
	if c.before == nil || has(c.before, id) {
		return false, nil
	}
	now, err := c.brains(ctx)
	return has(now, id), err
}

// has reports whether brains have an id, or one is called so: some daemons take names for ids.
func has(brains map[string][]string, id string) bool {
	for other, names := range brains {
		if other == id || slices.Contains(names, id) {
			return true
		}
	}
	return false
}

// brains returns what each listed brain is called, by each of its ids.
func (c *Census) brains(ctx context.Context) (map[string][]string, error) {
	list, err := c.list(ctx, "")
	if err != nil && !errors.Is(err, ErrMany) {
		return nil, err
	}
	items, ok := itemsOf(list)
	if !ok {
		return nil, nil
	}
	found := map[string][]string{}
	for _, o := range items {
		var ids []string
		for _, key := range []string{"id", "brain_id", "brainId", "slug"} {
			if id := text(o, key); id != "" {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			ids = []string{text(o, "name")}
		}
		for _, id := range ids {
			found[id] = append(slices.Clone(ids), text(o, "name"))
		}
	}
	return found, nil
}

// documents returns the paths of a brain's documents, without folders, and without hidden or
// generated files.
func (c *Census) documents(ctx context.Context, brain string) (paths []string, err error) {
	list, err := c.list(ctx, brain)
	if errors.Is(err, ErrMany) {
		return []string{"more documents than a listing may contain"}, nil
	}
	if err != nil {
		return nil, err
	}
	items, _ := itemsOf(list)
	for _, o := range items {
		p := text(o, "path")
		own := func(segment string) bool { return strings.HasPrefix(segment, ".") || strings.HasPrefix(segment, "_") }
		folder := o["is_dir"] == true || o["isDir"] == true || strings.HasSuffix(p, "/")
		if p != "" && !folder && !slices.ContainsFunc(strings.Split(p, "/"), own) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// itemsOf returns the objects of a list. Some daemons return a bare array or use another key.
func itemsOf(list []byte) (items []map[string]any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(list))
	decoder.UseNumber()
	var reply any
	if decoder.Decode(&reply) != nil {
		return nil, false
	}
	elements, ok := reply.([]any)
	if o, isObject := reply.(map[string]any); isObject {
		for _, key := range []string{"documents", "brains", "items"} {
			if named, isList := o[key].([]any); isList {
				elements, ok = named, true
			}
		}
	}
	for _, item := range elements {
		if o, isObject := item.(map[string]any); isObject {
			items = append(items, o)
		}
	}
	return items, ok
}

// text returns a value that is a text or a number.
func text(o map[string]any, key string) string {
	switch v := o[key].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
