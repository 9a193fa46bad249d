package actor

import (
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/reading"
)

// The maximum size of the notes of one question, in bytes of JSON. Notes that do not fit are
// omitted as a whole, and counted.
const (
	// maxPassages has room for ten long sessions of a benchmark.
	maxPassages = 200_000
)

// DefaultContextTokens is what a model with a window of 128,000 tokens can read besides the prompt
// and its answer. A whole haystack of LongMemEval-S fits.
const DefaultContextTokens = 128_000

// maxContext returns the limit in bytes of notes. A haystack of LongMemEval-S has 500,000 bytes
// and, by its authors' count, 115,000 tokens, 4.3 bytes a token. With 4.2 the notes stay below the
// limit.
func (a *Actor) maxContext() int { return 42 * a.cfg.ContextTokens / 10 }

// last returns the last notes that fit into limit, in order, and the number of omitted notes before
// them.
func last(notes []note, limit int) (kept []note, left int) {
	size, from := 0, len(notes)
	for from > 0 {
		n := notes[from-1]
		n.N, n.Weekday = from, reading.Weekday(n.Date)
		if size += len(jsonobj.Text(n)) + len(","); size > limit {
			break
		}
		from--
	}
	kept = slices.Clone(notes[from:])
	for i := range kept {
		kept[i].N, kept[i].Weekday = i+1, reading.Weekday(kept[i].Date)
	}
	return kept, from
}

// note is a text that the reader may use for its answer.
type note struct {
	N       int    `json:"n"` // from 1
	Date    string `json:"date,omitempty"`
	Weekday string `json:"weekday,omitempty"`
	Title   string `json:"title,omitempty"`
	Text    string `json:"text"`
	// Path is the session's. Models do not see it.
	Path string `json:"-"`
}

// fit takes notes in order, omits those that would exceed limit, and returns the number of omitted
// notes. Notes without text are dropped.
func fit(notes []note, limit int) (kept []note, left int) {
	size := 0
	for i, n := range notes {
		if strings.TrimSpace(n.Text) == "" {
			continue
		}
		n.N, n.Weekday = i+1, reading.Weekday(n.Date)
		more := len(jsonobj.Text(n)) + len(",")
		if size+more > limit {
			left++
			continue
		}
		size += more
		kept = append(kept, n)
	}
	return kept, left
}
