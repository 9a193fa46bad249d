// Package leak finds forbidden texts that came back: texts of deleted or replaced documents and of
// other brains.
package leak

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
)

// Finder collects forbidden texts that came back.
type Finder struct {
	forbidden, folded []string
	// Found are the leaks added.
	Found []result.Leak
	// Origin, if set, returns the origin of a forbidden text.
	Origin func(text string) result.Origin

	seen map[result.Leak]bool
}

// NewFinder returns a collector for forbidden texts.
func NewFinder(forbidden []string) *Finder {
	l := &Finder{}
	given := map[string]bool{}
	for _, text := range forbidden {
		if f := visible.Words(text); f != "" && !given[f] {
			given[f] = true
			l.forbidden, l.folded = append(l.forbidden, text), append(l.folded, f)
		}
	}
	return l
}

// Again returns an empty collector for the same texts.
func (l *Finder) Again() *Finder {
	return &Finder{forbidden: l.forbidden, folded: l.folded, Origin: l.Origin}
}

// Texts returns the forbidden texts, without repetitions.
func (l *Finder) Texts() []string { return l.forbidden }

// Add adds a leak, unless the text was found in the same place before.
func (l *Finder) Add(leak result.Leak) {
	if l.seen == nil {
		l.seen = map[result.Leak]bool{}
	}
	if leak.Origin == "" && l.Origin != nil {
		leak.Origin = l.Origin(leak.Text)
	}
	if !l.seen[leak] {
		l.seen[leak] = true
		l.Found = append(l.Found, leak)
	}
}

// look looks for the forbidden texts in a text of a place.
func (l *Finder) look(place result.Place, at, text string) {
	folded := visible.Words(text)
	for i, f := range l.folded {
		if strings.Contains(folded, f) {
			l.Add(result.Leak{Text: l.forbidden[i], Place: place, At: at})
		}
	}
}

// LookJSON looks for the forbidden texts in every string of a JSON value, including keys.
func (l *Finder) LookJSON(place result.Place, at string, value json.RawMessage) {
	var v any
	if json.Unmarshal(value, &v) != nil {
		l.look(place, at, string(value))
		return
	}
	l.lookValue(place, at, v)
}

func (l *Finder) lookValue(place result.Place, at string, v any) {
	switch v := v.(type) {
	case string:
		l.look(place, at, v)
	case []any:
		for i, e := range v {
			l.lookValue(place, fmt.Sprintf("%s[%d]", at, i), e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			l.look(place, at, key)
			l.lookValue(place, at+"."+key, v[key])
		}
	}
}

// LookChunk looks for the forbidden texts in a passage.
func (l *Finder) LookChunk(at string, c result.Chunk) {
	texts := []struct{ key, text string }{
		{"path", c.Path}, {"document_id", c.DocumentID}, {"chunk_id", c.ChunkID}, {"title", c.Title},
		{"text", c.Text}, {"session_id", c.SessionID},
	}
	for _, d := range c.Duplicates {
		texts = append(texts, struct{ key, text string }{"duplicates", d})
	}
	for _, t := range texts {
		l.look(result.InChunk, at+"."+t.key, t.text)
	}
}

// LookAnswer looks for the forbidden texts in an answer, its passages and its citations.
func (l *Finder) LookAnswer(answer string, retrieved []result.Chunk, citations []json.RawMessage) {
	l.look(result.InAnswer, "answer", answer)
	for i, c := range retrieved {
		l.LookChunk(fmt.Sprintf("retrieved[%d]", i), c)
	}
	for i, raw := range citations {
		at := fmt.Sprintf("citations[%d]", i)
		o, err := jsonobj.Parse(raw)
		if err != nil {
			l.LookJSON(result.InCitation, at, raw)
			continue
		}
		for _, m := range o {
			place := result.InCitation
			if key := string(m.Key); key == "quote" {
				place = result.InQuote
			}
			l.LookJSON(place, at+"."+string(m.Key), m.Value)
		}
	}
}
