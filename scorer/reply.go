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

// grade is a verdict that a reply states.
type grade struct {
	score  float64
	reason string
}

// objectForm is the form of verdicts that are JSON objects.
type objectForm struct {
	// key is one that every verdict has.
	key string
	// read reads an object. ok is false if the object is not meant as a verdict; problem says why it is
	// not one.
	read func(o jsonobj.Object) (g grade, ok bool, problem error)
}

// maxBroken is how many braces of a text may begin nothing that is JSON. A reply with more is not
// read, because each of them costs time.
const maxBroken = 1000

// readReply returns the one verdict in a reply. Whatever is around it is not read: prose, a code
// fence, a block of thoughts. There is none if the reply states two that differ, or states only what
// a text of the item says, which the model may have quoted.
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

// gradesIn returns the verdicts that are objects of a text, those within other objects left out. The
// error is the one of a verdict that cannot be used, or that is not JSON.
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

// eachObject calls f with the objects of a text, and returns the text without them.
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

// keyIn reports whether a text has the key of a verdict.
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

// quotes reports whether a text of the item has a verdict.
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

// texts returns the texts of an item that its judge reads.
func (i Item) texts() []string { return []string{i.Answer, i.Question, i.Reference} }

// scoreForm is the form of {"score": number, "reason": string}. It ignores other keys, and rejects
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
