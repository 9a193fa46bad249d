package mapping

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"evalctl/harness/target"
)

// brainNotes is the JSON of store.Notes.
type brainNotes struct {
	Brain any               `json:"brain"` // what the service calls it
	Paths map[string]string `json:"paths,omitempty"`
	Dates map[string]string `json:"dates,omitempty"`
	// Also has the other documents of an id, see text.also.
	Also map[string][]string `json:"also,omitempty"`
	// Texts has the ids by which get and delete find texts, with the other placeholders of these
	// calls, and the id if it is sent as a number.
	Texts map[string]map[string]any `json:"texts,omitempty"`
}

// Notes implements target.NoteTaker.
func (s *store) Notes(id string) ([]byte, error) {
	byID := []*operation{s.mapping.get, s.mapping.remove}
	return s.brain(id).notes(slices.DeleteFunc(byID, func(o *operation) bool { return o == nil }))
}

// notes leaves out the ids from which the paths follow. byID are the operations that find a text
// by its id.
func (b *brain) notes(byID []*operation) ([]byte, error) {
	n := brainNotes{Brain: b.sentID(), Paths: map[string]string{}, Texts: map[string]map[string]any{}, Also: map[string][]string{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	note := func(id, path string) {
		if impliedPath(id) != path {
			n.Paths[id] = path
		}
	}
	for id, path := range b.paths {
		note(id, path)
	}
	if len(byID) > 0 {
		for id, t := range b.kept {
			note(id, t.path)
			n.Texts[id] = t.sentBy(byID)
		}
	}
	for id, t := range b.kept {
		if len(t.also) > 0 {
			n.Also[id] = t.also
		}
	}
	n.Dates = b.dates
	return json.Marshal(n)
}

// sentBy returns the values of the text that operations send.
func (t text) sentBy(byID []*operation) map[string]any {
	sent := maps.Clone(t.values)
	maps.DeleteFunc(sent, func(name string, v any) bool {
		_, number := v.(json.Number)
		return !number && name == "id" || name == "name" || // which follow from the key
			!slices.ContainsFunc(byID, func(o *operation) bool { return o.sends(name) })
	})
	return sent
}

// UseNotes implements target.NoteTaker.
func (s *store) UseNotes(id string, notes []byte) error {
	if notes == nil {
		return s.needsNotes()
	}
	var n brainNotes
	d := json.NewDecoder(bytes.NewReader(notes))
	d.UseNumber()
	err := d.Decode(&n)
	if err == nil && textOf(n.Brain) == "" {
		err = errors.New("it does not say how the service calls the brain")
	}
	if err != nil {
		return err
	}
	b := s.brain(id)
	b.setID(n.Brain)
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.paths, n.Paths)
	maps.Copy(b.dates, n.Dates)
	for id, also := range n.Also {
		b.kept[id] = text{path: b.paths[id], also: also}
	}
	for id, values := range n.Texts {
		path, ok := b.paths[id]
		if !ok {
			path = impliedPath(id)
		}
		b.kept[id] = text{path: path, also: n.Also[id], values: values}.called(cmp.Or(values["id"], any(id)))
	}
	return nil
}

// needsNotes returns target.ErrMissing if the service gives its brains or texts names that only
// the process knows that wrote them.
func (s *store) needsNotes() error {
	gives := func(o *operation) bool { return o != nil && o.givesIDs() }
	if s.Namespace() != "" || gives(s.mapping.remember) || gives(s.mapping.turns) {
		return fmt.Errorf("%w: nothing is noted about it", target.ErrMissing)
	}
	return nil
}
