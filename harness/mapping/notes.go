package mapping

import (
	"encoding/json"
	"errors"
	"maps"
)

// brainNotes is the JSON of store.Notes.
type brainNotes struct {
	Brain string            `json:"brain"` // what the service calls it
	Paths map[string]string `json:"paths,omitempty"`
	Dates map[string]string `json:"dates,omitempty"`
}

// Notes implements target.NoteTaker.
func (s *store) Notes(id string) ([]byte, error) { return s.brain(id).notes() }

// notes leaves out the ids from which the paths follow.
func (b *brain) notes() ([]byte, error) {
	n := brainNotes{Brain: b.id(), Paths: map[string]string{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, path := range b.paths {
		if impliedPath(id) != path {
			n.Paths[id] = path
		}
	}
	n.Dates = b.dates
	return json.Marshal(n)
}

// UseNotes implements target.NoteTaker.
func (s *store) UseNotes(id string, notes []byte) error {
	var n brainNotes
	err := json.Unmarshal(notes, &n)
	if err == nil && n.Brain == "" {
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
	return nil
}
