package source

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"evalctl/scorer"
)

// order returns the indexes of a question's options in display order.
func (in wholeFile) order(id string, options int) []int {
	if in.fileOrder {
		out := make([]int, options)
		for i := range out {
			out[i] = i
		}
		return out
	}
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, id) // it cannot fail
	return rand.New(rand.NewPCG(in.seed, hash.Sum64())).Perm(options)
}

// optionsIntro separates a multiple-choice question from its options.
const optionsIntro = "\n\nWhich of these answers is the best? Reply with its letter, such as (a)."

// Bare returns the text of the question without multiple-choice options.
func (q Question) Bare() string {
	text, _, _ := strings.Cut(q.Text, optionsIntro)
	return text
}

// setOptions sets the text of a multiple-choice question, its answer, and the check for the right
// letter. right is the index of the right option.
func setOptions(q *Question, text string, options []string, right int, order []int) {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	b.WriteString(optionsIntro)
	for at, i := range order {
		letter := string(rune('a' + at))
		fmt.Fprintf(&b, "\n(%s) %s", letter, options[i])
		if i == right {
			q.Answer = fmt.Sprintf("(%s) %s", letter, options[i])
			q.Checks = []scorer.Check{{Choice: letter}}
			q.Tags = append(q.Tags, tagPosition+letter)
		}
	}
	q.Text = b.String()
}

// tagPosition is the prefix of the tag with the letter of the right option.
const tagPosition = "position:"

// options returns the texts of the options in display order, none without options.
func (q Question) options() []string {
	_, list, _ := strings.Cut(q.Text, optionsIntro)
	return optionsIn(list, ownLabel)
}

// label is how a list labels its options: a format, and the letter of the first.
type label struct {
	format string
	first  rune
}

// ownLabel is the label of setOptions.
var ownLabel = label{"\n(%c) ", 'a'}

// of returns the label of the i-th option.
func (l label) of(i int) string { return fmt.Sprintf(l.format, l.first+rune(i)) }

// optionsIn returns the texts of a list of options.
func optionsIn(list string, l label) (texts []string) {
	for {
		_, rest, found := strings.Cut(list, l.of(len(texts)))
		if !found {
			return texts
		}
		text, _, _ := strings.Cut(rest, l.of(len(texts)+1))
		texts, list = append(texts, strings.TrimSpace(text)), rest
	}
}

// correctChecks makes the checks agree with an answer that errata have corrected. The only check of
// a multiple choice becomes the option with the answer's text: letters depend on the order in which
// options are shown. Other checks are removed, because they would score by the old answer.
func (q *Question) correctChecks() error {
	options := q.options()
	if len(q.Checks) != 1 || q.Checks[0].Choice == "" || len(options) == 0 {
		q.Checks = nil
		return nil
	}
	text := strings.TrimSpace(optionLabel().ReplaceAllString(q.Answer, ""))
	right := slices.Index(options, text)
	if right < 0 {
		return fmt.Errorf("the answer %.60q is not the text of one of its options: give the text, "+
			"because letters depend on the order in which options are shown", q.Answer)
	}
	c, letter := q.Checks[0], string(rune('a'+right))
	c.Choice = letter
	q.Checks, q.Answer = []scorer.Check{c}, fmt.Sprintf("(%s) %s", letter, text)
	q.Tags = slices.DeleteFunc(slices.Clone(q.Tags), func(tag string) bool { return strings.HasPrefix(tag, tagPosition) })
	q.Tags = append(q.Tags, tagPosition+letter)
	return nil
}
