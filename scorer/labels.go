package scorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
	"evalctl/internal/llm"
)

// Labels are the words with which a model calls an answer right or wrong, as judges of other
// harnesses do.
type Labels struct {
	// Key is the key of the word if the reply is a JSON object. If empty, the reply is the bare
	// word.
	Key string
	// Right and Wrong are the words, in any case. They must not overlap.
	Right, Wrong []string
}

func (l *Labels) check() error {
	if len(l.Right) == 0 || len(l.Wrong) == 0 {
		return errors.New("the labels of a judge need words for right and for wrong")
	}
	for _, word := range append(slices.Clone(l.Right), l.Wrong...) {
		switch {
		case word == "" || word != bare(word):
			return fmt.Errorf("the label %.40q of a judge is empty, or begins or ends with a space or a mark", word)
		case has(l.Right, word) && has(l.Wrong, word):
			return fmt.Errorf("the label %.40q of a judge is both right and wrong", word)
		}
	}
	return nil
}

// has reports whether a word is in a list, in any case.
func has(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// bare returns a word without surrounding space and punctuation.
func bare(word string) string { return strings.Trim(word, " \t\r\n.!\"'*`") }

// parse parses a reply. Only a label alone, or on the last line, is a verdict, because a word in a
// sentence may be negated.
func (l *Labels) parse(text string, item Item) (grade, error) {
	if l.Key != "" {
		return readReply(text, item, objectForm{l.Key, l.read})
	}
	if g, ok := l.grade(llm.Unfenced(strings.TrimSpace(text))); ok {
		return g, nil
	}
	problem := fmt.Errorf("it is neither %s nor %s alone", strings.Join(l.Right, ", "), strings.Join(l.Wrong, ", "))
	if strings.TrimSpace(text) == "" {
		return grade{}, problem
	}
	said, err := llm.WithoutThoughts(text)
	if err != nil {
		return grade{}, err
	}
	said = llm.Unfenced(said)
	g, ok := l.lastLine(said)
	if !ok {
		return grade{}, problem
	}
	_, alone := l.grade(said)
	if l.quoted(item, alone) {
		return grade{}, errors.New("its verdict may be in a text that it was given")
	}
	return g, nil
}

// quoted reports whether the label of a reply may be a quotation: a text of the item has a line, or
// a part between marks of thoughts, that is a label. If the label is alone after the thoughts, it
// can only be a quotation together with such a mark.
func (l *Labels) quoted(item Item, alone bool) bool {
	for _, given := range item.texts() {
		parts := llm.BreakAtThoughts(given)
		if alone && parts == given {
			continue
		}
		for line := range strings.Lines(parts) {
			if _, ok := l.grade(line); ok {
				return true
			}
		}
	}
	return false
}

// lastLine returns the label on the last line of a text. No other line may have a different label.
func (l *Labels) lastLine(text string) (g grade, ok bool) {
	stated := map[float64]bool{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if g, ok = l.grade(line); ok {
			stated[g.score] = true
		}
	}
	return g, ok && len(stated) == 1
}

// grade returns the verdict for a bare label.
func (l *Labels) grade(word string) (g grade, ok bool) {
	word = bare(word)
	if has(l.Right, word) {
		return grade{1, word}, true
	}
	return grade{0, word}, has(l.Wrong, word)
}

// read parses an object with a label.
func (l *Labels) read(o jsonobj.Object) (g grade, ok bool, err error) {
	n := 0
	for _, m := range o {
		if string(m.Key) == l.Key {
			n++
		}
	}
	label, text := jsonobj.String(o.Get(l.Key))
	switch {
	case n == 0:
		return grade{}, false, fmt.Errorf("the object has no text with the key %q", l.Key)
	case n > 1:
		return grade{}, true, fmt.Errorf("the key %q is there twice", l.Key)
	case !text:
		return grade{}, true, fmt.Errorf("the object has no text with the key %q", l.Key)
	}
	if g, ok = l.grade(label); !ok {
		return grade{}, true, fmt.Errorf("it is neither %s nor %s alone", strings.Join(l.Right, ", "), strings.Join(l.Wrong, ", "))
	}
	if reason := o.Text("reason", "reasoning", "explanation"); reason != "" {
		g.reason = reason
	}
	return g, true, nil
}

// reply returns the reply for a verdict.
func (l *Labels) reply(right bool) string {
	word := l.Wrong[0]
	if right {
		word = l.Right[0]
	}
	if l.Key == "" {
		return word
	}
	data, err := json.Marshal(map[string]string{l.Key: word})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(data)
}

// parse parses a reply about an item.
func (p Prompts) parse(text string, item Item) (grade, error) {
	if p.Labels != nil {
		return p.Labels.parse(text, item)
	}
	return readReply(text, item, scoreForm)
}
