package seed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// Step is one step of a Probe.
type Step struct {
	Name string // such as write
	// Took is the duration of the step. Err is its failure, target.ErrLacks if the service does not
	// support the step.
	Took time.Duration
	Err  error
	// Found has the results of a search.
	Found []result.Chunk
}

// Lacked reports whether the service does not support the step.
func (s Step) Lacked() bool { return errors.Is(s.Err, target.ErrLacks) }

// Outcome describes the result in one line, for example "ok 3 ms".
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

// Probe writes a document to a new brain, finds it, searches for an absent word, deletes the
// document and removes the brain. mark is a word unknown to the service, and becomes part of the
// brain's name. Probe passes each step to done once it has ended, up to the first failure. A step that
// the service does not support does not count as a failure. The brain is always removed.
func Probe(ctx context.Context, s target.Service, d result.Dialect, mark string, done func(Step)) {
	store := s.Store(d)
	name := "evalctl-check-" + mark
	var text marker
	var last Step
	step := func(name string, need target.Ability, do func(*Step) error) bool {
		one := Step{Name: name}
		start := time.Now()
		if one.Err = target.Needs(s, need); one.Err == nil {
			one.Err = do(&one)
		}
		one.Took = time.Since(start)
		done(one)
		last = one
		return one.Err == nil || one.Lacked()
	}
	await := func(one *Step, want bool) (err error) {
		one.Found, err = text.await(ctx, want)
		return err
	}
	created := step("create a brain", target.Put, func(*Step) error {
		id, err := store.Create(ctx, name)
		text = newMarker(store, id, "check", mark)
		return err
	})
	if !created || text.brain == "" {
		return
	}
	_ = step("write", target.Put, func(*Step) error { return text.write(ctx) }) &&
		step("read", target.Get, func(*Step) error { return readMark(ctx, s, &text) }) &&
		step("find", target.Search, func(one *Step) error { return await(one, true) }) &&
		step("find nothing", target.Search, func(one *Step) error { return findNothing(ctx, &text, one) }) &&
		step("delete", target.Delete, func(*Step) error { return text.remove(ctx) }) &&
		step("confirm it is gone", target.Search, func(one *Step) error {
			if last.Lacked() {
				return fmt.Errorf("%w: nothing was deleted", target.ErrLacks)
			}
			return await(one, false)
		})
	step("remove the brain", target.Put, func(*Step) error { return store.Remove(ctx, text.brain, name) })
}

// findNothing searches for a word that was never written. The service may return any passages or
// none, but the reply must be valid and must not contain the word.
func findNothing(ctx context.Context, text *marker, one *Step) (err error) {
	absent := NewMark()
	if one.Found, err = text.store.Search(ctx, text.brain, absent, markerDepth); err != nil {
		return fmt.Errorf("search for a word that was never written: %w", err)
	}
	for _, c := range one.Found {
		if strings.Contains(c.Text, absent) {
			return fmt.Errorf("a word that was never written is found in the text %.200q: the reply may repeat the question", c.Text)
		}
	}
	return nil
}

// readMark reads a document, which must contain the mark.
func readMark(ctx context.Context, s target.Service, text *marker) error {
	r, err := target.Find[target.Reader](s, target.Get)
	if err != nil {
		return err
	}
	texts, err := r.Get(ctx, text.brain, text.doc.Path)
	if err == nil && !strings.Contains(strings.Join(texts, "\n"), text.mark) {
		err = fmt.Errorf("reading the document returns %d texts, but not the text that was written", len(texts))
	}
	return err
}
