package mapping

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// byID returns the calls that may act on a text by its id.
func (t *trial) byID(words []string, methods string, roles ...role) (calls []*Call) {
	id := idRole
	id.number = slices.ContainsFunc(t.samples[0].given, func(v any) bool { _, number := v.(json.Number); return number })
	f := filler{roles: t.within(append(roles, id)...), required: []role{spaceRole}, must: "{id}"}
	for _, o := range ranked(t.offers, words) {
		if o.method != "" && !strings.Contains(methods, o.method) || o == t.p.Remember.offer || t.p.Search != nil && o == t.p.Search.offer || len(calls) > 2*mostTried {
			continue
		}
		if len(roles) == 0 && !o.whole && slices.ContainsFunc(o.schema.Required, func(name string) bool { return slices.Contains(textArguments, folded(name)) }) {
			continue // it writes
		}
		forms := o.forms([]filler{f}, fullerOptions)
		calls = append(calls, forms[:min(len(forms), 4)]...)
	}
	return calls
}

// tryGet looks for a call that reads a text by its id.
func (t *trial) tryGet(ctx context.Context) {
	s := t.samples[0]
	for _, c := range slices.Concat(t.byID(getWords, "GET POST"), t.known(func(m *Mapping) *operation { return m.get })) {
		for _, id := range s.sentIDs() {
			a, err := t.call(ctx, t.one, "get", c, s.byID(t.brainOf(), id))
			if err != nil {
				continue
			}
			if place := locate(a, t.samples[:1]); place != nil && !place.cut {
				t.p.Get, t.p.gotten = c, place
				place.id, place.score, place.date, place.title = "", "", "", ""
				return
			}
		}
	}
}

// tryUpdate looks for a call that replaces a text by its id.
func (t *trial) tryUpdate(ctx context.Context) {
	s := t.samples[1]
	changed := &sample{mark: s.mark, id: s.id, title: s.title, given: s.given, text: strings.Replace(t.samples[2].text, t.samples[2].mark, s.mark+"x", 1)}
	for _, c := range t.byID(updateWords, "PUT PATCH POST", textRole) {
		if !uses(c.Arguments, "{text}") || !uses(c.Arguments, "{id}") && !uses(c.Arguments, "{name}") {
			continue
		}
		for _, id := range s.sentIDs() {
			if _, err := t.call(ctx, t.one, "update", c, changed.byID(t.brainOf(), id)); err != nil {
				continue
			}
			if t.finds(ctx, changed.mark+"x", changed) && !t.finds(ctx, s.mark, s) {
				t.p.Update = c
				return
			}
		}
	}
}

// finds reports whether a search for a word finds a sample, after the finish call if there is one.
func (t *trial) finds(ctx context.Context, word string, s *sample) bool {
	if t.p.Finish != nil {
		if _, err := t.call(ctx, t.one, "finish", t.p.Finish, map[string]any{"brain": t.brainOf()}); err != nil {
			return false
		}
	}
	if t.query != t.mark { // words alone find nothing
		word = s.sentence()
	}
	a, err := t.call(ctx, t.one, "search", t.p.Search, t.asked(word))
	return err == nil && locate(a, []*sample{s}) != nil
}

// tryDelete looks for a call that deletes by id, and deletes the samples with it.
func (t *trial) tryDelete(ctx context.Context) {
	s := t.samples[0]
	for _, c := range slices.Concat(t.byID(deleteWords, "DELETE POST"), t.known(func(m *Mapping) *operation { return m.remove })) {
		for _, id := range s.sentIDs() {
			if !t.deletes(ctx, c, s, id) || t.p.Search != nil && t.finds(ctx, s.mark, s) {
				continue
			}
			t.p.Delete = c
			at := slices.Index(s.sentIDs(), id)
			for _, other := range t.samples[1:] {
				if ids := other.sentIDs(); at < len(ids) {
					t.deletes(ctx, c, other, ids[at])
				}
			}
			return
		}
	}
}

// noteLeft notes that samples may remain in a service that keeps running.
func (t *trial) noteLeft() {
	if !t.starts() && t.p.Delete == nil {
		t.p.note("no call was found that deletes: the sample texts with the word %s are still stored", t.mark)
	}
}

func (t *trial) deletes(ctx context.Context, c *Call, s *sample, id any) bool {
	_, err := t.call(ctx, t.one, "delete", c, s.byID(t.brainOf(), id))
	return err == nil
}
