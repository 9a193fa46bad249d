package source

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
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
			q.Tags = append(q.Tags, "position:"+letter)
		}
	}
	q.Text = b.String()
}
