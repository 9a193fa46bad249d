package control

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// The kinds of items, as in results.
const (
	KindReference = result.ControlReference // the reference itself, which is right
	KindOther     = "other_answer"          // the answer to another question
	KindEmpty     = "empty"
	KindUnknown   = "i_dont_know"
	KindVague     = "vague" // words about nothing in particular
)

// Wanted is the number of wrong items, and of right items, if there are enough questions. A judge
// that accepts one wrong answer in five rejects all of them with a probability of at most 0.05:
// 0.8^14 (statistics.md B.7).
const Wanted = 14

// Item is an answer with a known verdict.
type Item struct {
	scorer.Item
	Kind  string
	Right bool
}

// Items returns right and wrong answers to some of the questions, spread over the types of
// judgement. The result depends on the questions and the seed, but not on the order of the
// questions.
//
// There are Wanted right and Wanted wrong items, or fewer if there are not enough questions: a
// question has one right answer (none if its reference is a rubric) and a few wrong ones. Items are
// right or wrong for a judge and for the exact scorer alike. Answers that either could mistake for
// the contrary are not used.
func Items(questions []source.Question, seed uint64) []Item {
	pool := inTurn(questions, seed)
	var items []Item
	for _, q := range pool {
		if item, ok := q.right(); ok && len(items) < Wanted {
			items = append(items, item)
		}
	}
	return append(items, wrongItems(pool)...)
}

// shares are the relative numbers of the kinds of wrong items. Judges most often misjudge vague
// answers.
var shares = map[string]int{KindOther: 2, KindVague: 2, KindUnknown: 1, KindEmpty: 1}

// wrongItems returns wrong answers of all kinds by their shares, as far as the types allow. A
// question is used again, with another answer, only after all others.
func wrongItems(pool []question) []Item {
	var items []Item
	unused := make([][]Item, len(pool))
	used := map[string]int{} // by kind
	due := func(a, b Item) int { return used[a.Kind]*shares[b.Kind] - used[b.Kind]*shares[a.Kind] }
	for round, more := 0, true; more; round++ {
		more = false
		for i, q := range pool {
			if len(items) == Wanted {
				return items
			}
			if round == 0 {
				unused[i] = q.wrong(pool, i)
			}
			if len(unused[i]) == 0 {
				continue
			}
			more = true
			next := slices.MinFunc(unused[i], due)
			unused[i] = slices.DeleteFunc(unused[i], func(item Item) bool { return item.Answer == next.Answer })
			items, used[next.Kind] = append(items, next), used[next.Kind]+1
		}
	}
	return items
}

// question is a question with its item, without an answer.
type question struct {
	source.Question
	item scorer.Item
	rank [sha256.Size]byte // determines the order
}

// inTurn returns the questions in a random order given by the seed, taking one of each type of
// judgement in turn.
func inTurn(questions []source.Question, seed uint64) []question {
	byType := map[string][]question{}
	for _, q := range questions {
		item := q.Dataset().Item()
		unusable := strings.TrimSpace(item.Reference) == "" && len(item.Expected) == 0 ||
			q.Erratum != nil && q.Erratum.Exclude
		if unusable {
			continue // nothing is known about its answer, or it is wrong
		}
		key := binary.BigEndian.AppendUint64(nil, seed)
		byType[item.Type] = append(byType[item.Type],
			question{q, item, sha256.Sum256(append(key, q.ID...))})
	}
	for _, list := range byType {
		slices.SortFunc(list, func(a, b question) int { return slices.Compare(a.rank[:], b.rank[:]) })
	}
	var all []question
	for n := range questions {
		for _, t := range scorer.Types() {
			if n < len(byType[t]) {
				all = append(all, byType[t][n])
			}
		}
	}
	return all
}

// right returns the reference as an answer.
func (q question) right() (Item, bool) {
	answer := strings.TrimSpace(q.item.Reference)
	if q.item.Type == scorer.TypePreference {
		return Item{}, false
	}
	if len(q.item.Expected) > 0 && !q.contains(answer, scorer.Exact{Case: true}) {
		answer = strings.TrimSpace(answer + " (" + q.item.Expected[0] + ")")
	}
	if len(llm.Terms(answer)) == 0 {
		return Item{}, false // it has no words to compare
	}
	return q.with(KindReference, answer, true), true
}

func (q question) with(kind, answer string, right bool) Item {
	item := q.item
	item.Answer = answer
	return Item{Item: item, Kind: kind, Right: right}
}

// contains reports whether an exact scorer accepts an answer. Every answer accepted with case is
// also accepted without.
func (q question) contains(answer string, exact scorer.Exact) bool {
	item := q.item
	item.Answer = answer
	v, err := exact.Score(context.Background(), item)
	return err == nil && v.Passed()
}
