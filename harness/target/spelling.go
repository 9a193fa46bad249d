package target

import (
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
	"evalctl/internal/spelling"
)

// spellings is a set of key spellings.
type spellings uint32

const (
	snakeSeen spellings = 1 << iota
	camelSeen
)

// spelledKeys are multi-word keys in replies to searches and questions.
var spelledKeys = []string{"chunk_id", "document_id", "session_id", "brain_id", "effective_mode", "took_ms"}

// spellingsOf returns the spellings of keys in a reply, its trace, and its first chunk under each
// key of chunks.
func spellingsOf(o jsonobj.Object, chunks ...string) (seen spellings) {
	objects := []jsonobj.Object{o, o.Object("trace")}
	for _, key := range chunks {
		for first := range jsonobj.Elements(o.Get(key)) {
			chunk, _ := jsonobj.Parse(first) // anything else has no keys
			objects = append(objects, chunk)
			break
		}
	}
	for _, o := range objects {
		for _, key := range spelledKeys {
			if o.Get(key) != nil {
				seen |= snakeSeen
			}
			if o.Get(spelling.Camel(key)) != nil {
				seen |= camelSeen
			}
		}
	}
	return seen
}

// Dialects returns the spellings of keys in replies to Targets so far, result.Camel before
// result.Snake. It is empty if no reply had a multi-word key.
func (e *Endpoint) Dialects() []result.Dialect {
	var out []result.Dialect
	seen := spellings(e.spelled.Load())
	if seen&camelSeen != 0 {
		out = append(out, result.Camel)
	}
	if seen&snakeSeen != 0 {
		out = append(out, result.Snake)
	}
	return out
}
