package seed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// Step is one step of a Probe.
type Step struct {
	Name string // such as write
	// Took is how long it took. Err is why it failed, target.ErrLacks if the service cannot do it.
	Took time.Duration
	Err  error
	// Found is what a search returned.
	Found []result.Chunk
}

// Lacked reports whether the service cannot do what the step does.
func (s Step) Lacked() bool { return errors.Is(s.Err, target.ErrLacks) }

// Outcome says how the step ended, in one line: "ok  3 ms", for example.
func (s Step) Outcome() string {
	switch {
	case s.Lacked():
		_, why, _ := strings.Cut(s.Err.Error(), ": ")
		return "not measurable: " + why
	case s.Err != nil:
		return fmt.Sprintf("FAILED: %v", s.Err)
	}
	return fmt.Sprintf("ok  %d ms", s.Took.Milliseconds())
}

// NewMark returns a word for a Probe that nothing else has.
func NewMark() string { return "zq" + strings.ToLower(rand.Text()[:10]) }

// Probe writes a document to a new brain, finds it, deletes it and removes the brain. mark is a word
// that the service does not have, and is part of the brain's name. It returns the steps up to the
// first one that failed for another reason than that the service cannot do it, and always removes the
// brain.
func Probe(ctx context.Context, s target.Service, d result.Dialect, mark string) (steps []Step) {
	store := s.Store(d)
	name := "evalctl-check-" + mark
	doc := dataset.Doc{Path: "check/" + mark + ".md", Data: []byte(ProbeText(mark))}
	var id string
	step := func(name string, need target.Ability, do func(*Step) error) bool {
		one := Step{Name: name}
		start := time.Now()
		if one.Err = target.Needs(s, need); one.Err == nil {
			one.Err = do(&one)
		}
		one.Took = time.Since(start)
		steps = append(steps, one)
		return one.Err == nil || one.Lacked()
	}
	found := func(one *Step) (err error) {
		one.Found, err = store.Search(ctx, id, mark, 5)
		return err
	}
	created := step("create a brain", target.Put, func(*Step) (err error) {
		id, err = store.Create(ctx, name)
		return err
	})
	if !created || id == "" {
		return steps
	}
	_ = step("write", target.Put, func(*Step) error { return store.Write(ctx, id, []dataset.Doc{doc}, 1) }) &&
		step("read", target.Get, func(*Step) error { return readMark(ctx, s, id, doc.Path, mark) }) &&
		step("find", target.Search, func(one *Step) error { return awaitMark(ctx, found, one, mark, true) }) &&
		step("delete", target.Delete, func(*Step) error {
			return store.Apply(ctx, id, dataset.Operation{Op: dataset.OpDelete, Path: doc.Path})
		}) &&
		step("find it no more", target.Search, func(one *Step) error {
			if steps[len(steps)-1].Lacked() {
				return fmt.Errorf("%w: nothing was deleted", target.ErrLacks)
			}
			return awaitMark(ctx, found, one, mark, false)
		})
	step("remove the brain", target.Put, func(*Step) error { return store.Remove(ctx, id, name) })
	return steps
}

// readMark reads a document, which must have the mark.
func readMark(ctx context.Context, s target.Service, id, path, mark string) error {
	r, err := target.Find[target.Reader](s, target.Get)
	if err != nil {
		return err
	}
	texts, err := r.Get(ctx, id, path)
	if err == nil && !strings.Contains(strings.Join(texts, "\n"), mark) {
		err = fmt.Errorf("what was written is not read, but %d other texts", len(texts))
	}
	return err
}

// ProbeText is the text that a Probe with a mark writes.
func ProbeText(mark string) string {
	return fmt.Sprintf("The harbour master of %s keeps three lanterns.", mark)
}

// awaitMark searches until the mark is found, or until it is not.
func awaitMark(ctx context.Context, search func(*Step) error, one *Step, mark string, want bool) error {
	ctx, cancel := target.TimeLimit(ctx, searchableWithin)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := search(one)
		has := false
		for _, c := range one.Found {
			has = has || strings.Contains(c.Text, mark)
		}
		if err != nil || has == want {
			return err
		}
		select {
		case <-ctx.Done():
			if want {
				return fmt.Errorf("what was written is not found within %v (the last search returned %d passages)", searchableWithin, len(one.Found))
			}
			return fmt.Errorf("what was deleted is still found after %v", searchableWithin)
		case <-time.After(wait):
		}
	}
}
