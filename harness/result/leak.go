package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/figure"
	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
)

// Place is where a service returned a forbidden text.
type Place string

// The places that are checked.
const (
	InAnswer   Place = "answer"
	InChunk    Place = "chunk"    // a passage that was retrieved, or that a search for the text found
	InCitation Place = "citation" // a citation, except for its quote
	InQuote    Place = "quote"
	InEvent    Place = "event"  // an event of the answer's stream that is none of these
	InRecord   Place = "record" // the record of a document
	InList     Place = "list"   // a list of documents
)

// Places returns all places, in the order of tables.
func Places() []Place {
	return []Place{InAnswer, InChunk, InCitation, InQuote, InEvent, InRecord, InList}
}

// Origin is the origin of a forbidden text.
type Origin string

// The origins. Any other text has none.
const (
	OfDeleted  Origin = "deleted"  // a document or a session that was deleted, or the path of one
	OfReplaced Origin = "replaced" // an earlier version of a document
	OfAnother  Origin = "foreign"  // another brain
)

// Leak is a forbidden text that came back.
type Leak struct {
	Text  string `json:"text"`
	Place Place  `json:"place"`
	// At is the location within the place: a key of the question in the result, such as
	// retrieved[2].text, or the request that returned the text.
	At string `json:"at"`
	// Origin is empty if unknown.
	Origin Origin `json:"origin,omitempty"`
}

// String formats the leak for messages. It may quote the dataset.
func (l Leak) String() string { return fmt.Sprintf("%q came back in %s", l.Text, l.At) }

// LeakFigures counts the questions with leaks, in total and by place.
type LeakFigures struct {
	Questions int           `json:"questions"`
	Places    map[Place]int `json:"places"`
	// Severe is the number of questions with a leak of OfDeleted or OfAnother.
	Severe int `json:"deleted_or_foreign,omitempty"`
}

// Add counts a question.
func (f *LeakFigures) Add(r Record) {
	if len(r.Leaks) == 0 {
		return
	}
	f.Questions++
	if f.Places == nil {
		f.Places = map[Place]int{}
	}
	if slices.ContainsFunc(r.Leaks, func(l Leak) bool { return l.Origin == OfDeleted || l.Origin == OfAnother }) {
		f.Severe++
	}
	for _, p := range Places() {
		if slices.ContainsFunc(r.Leaks, func(l Leak) bool { return l.Place == p }) {
			f.Places[p]++
		}
	}
}

// Text lists the places with their numbers of leaks.
func (f *LeakFigures) Text() string {
	var parts []string
	for _, p := range Places() {
		if n := f.Places[p]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p, n))
		}
	}
	return fmt.Sprintf("forbidden texts came back in %s: %s", figure.Count(f.Questions, "question"), strings.Join(parts, ", "))
}

// LeaksText lists the leaks of a question with their places.
func (r *Record) LeaksText() string {
	var parts []string
	for _, l := range r.Leaks {
		parts = append(parts, fmt.Sprintf("%q in %s (%s)", l.Text, l.Place, l.At))
	}
	return strings.Join(parts, "; ")
}

// Leaks collects forbidden texts that came back.
type Leaks struct {
	forbidden, folded []string
	// Found are the leaks added.
	Found []Leak
	// Origin, if set, returns the origin of a forbidden text.
	Origin func(text string) Origin

	seen map[Leak]bool
}

// NewLeaks returns a collector for forbidden texts.
func NewLeaks(forbidden []string) *Leaks {
	l := &Leaks{}
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
func (l *Leaks) Again() *Leaks {
	return &Leaks{forbidden: l.forbidden, folded: l.folded, Origin: l.Origin}
}

// Texts returns the forbidden texts, without repetitions.
func (l *Leaks) Texts() []string { return l.forbidden }

// Add adds a leak, unless the text was found in the same place before.
func (l *Leaks) Add(leak Leak) {
	if l.seen == nil {
		l.seen = map[Leak]bool{}
	}
	if leak.Origin == "" && l.Origin != nil {
		leak.Origin = l.Origin(leak.Text)
	}
	if !l.seen[leak] {
		l.seen[leak] = true
		l.Found = append(l.Found, leak)
	}
}

// Look looks for the forbidden texts in a text of a place.
func (l *Leaks) Look(place Place, at, text string) {
	folded := visible.Words(text)
	for i, f := range l.folded {
		if strings.Contains(folded, f) {
			l.Add(Leak{Text: l.forbidden[i], Place: place, At: at})
		}
	}
}

// LookJSON looks for the forbidden texts in every string of a JSON value, including keys.
func (l *Leaks) LookJSON(place Place, at string, value json.RawMessage) {
	var v any
	if json.Unmarshal(value, &v) != nil {
		l.Look(place, at, string(value))
		return
	}
	l.lookValue(place, at, v)
}

func (l *Leaks) lookValue(place Place, at string, v any) {
	switch v := v.(type) {
	case string:
		l.Look(place, at, v)
	case []any:
		for i, e := range v {
			l.lookValue(place, fmt.Sprintf("%s[%d]", at, i), e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			l.Look(place, at, key)
			l.lookValue(place, at+"."+key, v[key])
		}
	}
}

// LookChunk looks for the forbidden texts in a passage.
func (l *Leaks) LookChunk(at string, c Chunk) {
	texts := []struct{ key, text string }{
		{"path", c.Path}, {"document_id", c.DocumentID}, {"chunk_id", c.ChunkID}, {"title", c.Title},
		{"text", c.Text}, {"session_id", c.SessionID},
	}
	for _, d := range c.Duplicates {
		texts = append(texts, struct{ key, text string }{"duplicates", d})
	}
	for _, t := range texts {
		l.Look(InChunk, at+"."+t.key, t.text)
	}
}

// LookAnswer looks for the forbidden texts in an answer, its passages and its citations.
func (l *Leaks) LookAnswer(answer string, retrieved []Chunk, citations []json.RawMessage) {
	l.Look(InAnswer, "answer", answer)
	for i, c := range retrieved {
		l.LookChunk(fmt.Sprintf("retrieved[%d]", i), c)
	}
	for i, raw := range citations {
		at := fmt.Sprintf("citations[%d]", i)
		o, err := jsonobj.Parse(raw)
		if err != nil {
			l.LookJSON(InCitation, at, raw)
			continue
		}
		for _, m := range o {
			place := InCitation
			if key := string(m.Key); key == "quote" {
				place = InQuote
			}
			l.LookJSON(place, at+"."+string(m.Key), m.Value)
		}
	}
}
