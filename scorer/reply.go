package scorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"evalctl/internal/decimal"
	"evalctl/internal/jsonobj"
	"evalctl/internal/llm"
)

// grade is a verdict stated in a reply.
type grade struct {
	score  float64
	reason string
}

// objectForm is a form of verdict as a JSON object.
type objectForm struct {
	// key is a key that every verdict has.
	key string
	// read parses an object. ok is false if the object is not meant as a verdict; problem says why
	// a verdict is unusable.
	read func(o jsonobj.Object) (g grade, ok bool, problem error)
}

// maxBroken is how many braces in a text may fail to begin JSON. A reply with more is rejected,
// because each brace costs time.
const maxBroken = 1000

// readReply returns the only verdict in a reply. It ignores surrounding prose, code fences and
// thoughts. It returns an error if the reply states two different verdicts, or only one that a text
// of the item states, which the model may have quoted.
func readReply(text string, item Item, form objectForm) (grade, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return grade{}, errors.New("it is empty")
	}
	if o, err := jsonobj.Parse([]byte(llm.Unfenced(text))); err == nil {
		g, _, problem := form.read(o)
		return g, problem
	}
	said, err := llm.WithoutThoughts(text)
	if err != nil {
		return grade{}, err
	}
	stated, err := gradesIn(said, form)
	switch {
	case err != nil:
		return grade{}, err
	case len(stated) == 0:
		return grade{}, errNoVerdict
	}
	for _, g := range stated[1:] {
		if g.score != stated[0].score {
			return grade{}, errors.New("it has two different verdicts")
		}
	}
	for _, g := range stated {
		if !item.quotes(g, form) {
			return g, nil
		}
	}
	return grade{}, errors.New("its only verdict is in a text that it was given")
}

var errNoVerdict = errors.New("it has no JSON object that is a verdict")

// gradesIn returns the verdicts among the outermost objects of a text. The error describes an
// unusable verdict or bad JSON.
func gradesIn(text string, form objectForm) (out []grade, problem error) {
	rest, err := eachObject(text, func(o jsonobj.Object) error {
		g, ok, err := form.read(o)
		if ok && err == nil {
			out = append(out, g)
		}
		if !ok {
			err = nil
		}
		return err
	})
	if err == nil && form.keyIn(rest) {
		err = errors.New("a verdict in it is not JSON")
	}
	return out, err
}

// eachObject calls f with each object in a text and returns the text without them.
func eachObject(text string, f func(jsonobj.Object) error) (rest string, err error) {
	var b strings.Builder
	for broken := 0; ; {
		start := strings.IndexByte(text, '{')
		if start < 0 {
			return b.String() + text, nil
		}
		b.WriteString(text[:start])
		o, after, ok := jsonobj.Prefix([]byte(text[start:]))
		if !ok {
			if broken++; broken > maxBroken {
				return "", errors.New("it has too many braces")
			}
			b.WriteByte('{')
			text = text[start+1:]
			continue
		}
		text = string(after)
		if err := f(o); err != nil {
			return "", err
		}
	}
}

// keyIn reports whether a text contains a verdict's key.
func (f objectForm) keyIn(text string) bool {
	for {
		_, after, ok := strings.Cut(text, strconv.Quote(f.key))
		if !ok {
			return false
		}
		if strings.HasPrefix(strings.TrimSpace(after), ":") {
			return true
		}
		text = after
	}
}

// quotes reports whether a text of the item states the verdict.
func (i Item) quotes(g grade, form objectForm) bool {
	for _, text := range i.texts() {
		quoted := false
		_, err := eachObject(text, func(o jsonobj.Object) error {
			found, ok, err := form.read(o)
			quoted = quoted || ok && err == nil && found == g
			return nil
		})
		if quoted || err != nil {
			return true
		}
	}
	return false
}

// texts returns the item's texts that a judge reads.
func (i Item) texts() []string { return []string{i.Answer, i.Question, i.Reference} }

// scoreForm is the form {"score": number, "reason": string}. It ignores other keys, and rejects
// missing and repeated ones.
var scoreForm = objectForm{"score", readScore}

func readScore(o jsonobj.Object) (g grade, ok bool, err error) {
	seen := map[string]bool{}
	for _, m := range o {
		key := string(m.Key)
		if key != "score" && key != "reason" {
			continue
		}
		if seen[key] {
			return grade{}, true, fmt.Errorf("the key %q is there twice", key)
		}
		seen[key] = true
		switch key {
		case "score":
			g.score, err = parseScore(string(m.Value))
		case "reason":
			g.reason, err = parseReason(m.Value)
		}
		if err != nil {
			return grade{}, true, err
		}
	}
	if !seen["score"] || !seen["reason"] {
		return grade{}, seen["score"], errors.New("the object must have both score and reason")
	}
	return g, true, nil
}

func parseReason(value json.RawMessage) (string, error) {
	reason, ok := jsonobj.String(value)
	if !ok {
		return "", errors.New("reason is not a string")
	}
	return reason, nil
}

func parseScore(value string) (float64, error) {
	score, err := decimal.Parse(value)
	if err != nil && !errors.Is(err, decimal.ErrRange) {
		return 0, errors.New("score is not a number")
	}
	if err != nil || score < 0 || score > 1 {
		return 0, errors.New("score is not between 0 and 1")
	}
	return score, nil
}
