package actor

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// What the notes of one question may take, in bytes of JSON. Notes that do not fit are left out
// whole, and counted.
const (
	// maxPassages holds ten long sessions of a benchmark.
	maxPassages = 200_000
	// maxContext is about 122,000 tokens of English, which a model with a context of 128,000 tokens
	// can read with the prompt and its answer. It holds a whole haystack of LongMemEval-S.
	maxContext = 520_000
)

// note is something that the reader may answer from.
type note struct {
	N       int    `json:"n"` // from 1
	Date    string `json:"date,omitempty"`
	Weekday string `json:"weekday,omitempty"`
	Title   string `json:"title,omitempty"`
	Text    string `json:"text"`
}

// fit returns the notes without those that would exceed limit, taken in their order, and the number
// of those. Notes without text say nothing and are dropped.
func fit(notes []note, limit int) (kept []note, left int) {
	size := 0
	for i, n := range notes {
		if strings.TrimSpace(n.Text) == "" {
			continue
		}
		n.N, n.Weekday = i+1, weekday(n.Date)
		more := len(encode(n)) + len(",")
		if size+more > limit {
			left++
			continue
		}
		size += more
		kept = append(kept, n)
	}
	return kept, left
}

// day returns the day of an RFC 3339 date or time, in its own zone.
func day(date string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, date[:min(len(date), len(time.DateOnly))])
	return t, err == nil
}

// weekday returns the day of the week of a date, from which a model can count to "last Friday".
func weekday(date string) string {
	if d, ok := day(date); ok {
		return d.Weekday().String()
	}
	return ""
}

// encode returns a value of strings and numbers as JSON in which < and > are not escaped.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}
