package scorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
)

// Labels are the words with which a model replies that an answer is right or wrong, as the judges of
// other harnesses do.
type Labels struct {
	// Key is that of the word in a reply that is one JSON object. Without it the reply is the word alone.
	Key string
	// Right and Wrong are words, in any case. None is in both.
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

// bare returns a word without the space and the marks around it.
func bare(word string) string { return strings.Trim(word, " \t\r\n.!\"'*`") }

// parse reads a reply. Nothing but a label is a verdict: a word within a sentence may be negated.
func (l *Labels) parse(text string) (score float64, reason string, err error) {
	word := text
	if l.Key != "" {
		o, err := jsonobj.Parse([]byte(text))
		if err != nil {
			return 0, "", errors.New("it is not one JSON object alone")
		}
		label, ok := jsonobj.String(o.Get(l.Key))
		if !ok {
			return 0, "", fmt.Errorf("the object has no text with the key %q", l.Key)
		}
		word, reason = label, o.Text("reason", "reasoning", "explanation")
	}
	switch word = bare(word); {
	case has(l.Right, word):
		score = 1
	case !has(l.Wrong, word):
		return 0, "", fmt.Errorf("it is neither %s nor %s alone", strings.Join(l.Right, ", "), strings.Join(l.Wrong, ", "))
	}
	if reason == "" {
		reason = word
	}
	return score, reason, nil
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

// parse reads a reply to the prompts.
func (p Prompts) parse(text string) (score float64, reason string, err error) {
	if p.Labels != nil {
		return p.Labels.parse(text)
	}
	return parseReply(text)
}
