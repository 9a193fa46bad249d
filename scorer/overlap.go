package scorer

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
)

// Overlap scores by the words that an answer shares with its reference. It asks no model.
type Overlap struct {
	metric string
	score  func(answer string, item Item) float64
}

// The measures of overlap.
const (
	tokenF1Name = "token-f1"
	rougeLName  = "rouge-l"
	bleu1Name   = "bleu-1"
)

// TokenF1 is LoCoMo's F1 of stems. For a multi-hop question, each comma-separated part of the
// reference is compared with the best part of the answer. For an open-domain question, only the
// reference before the first semicolon counts. An abstention question passes if the answer says
// that nothing is mentioned.
func TokenF1() Overlap { return Overlap{tokenF1Name, tokenF1} }

// RougeL is the F-measure of the longest common subsequence of stems.
func RougeL() Overlap {
	return Overlap{rougeLName, func(answer string, item Item) float64 {
		return rougeL(stems(answer), stems(item.Reference))
	}}
}

// Bleu1 is the share of the answer's words that are in the reference, with the brevity penalty
// (Papineni et al. 2002).
func Bleu1() Overlap {
	return Overlap{bleu1Name, func(answer string, item Item) float64 { return bleu1(tokens(answer), tokens(item.Reference)) }}
}

// Name is the name of the measure.
func (o Overlap) Name() string { return o.metric }

// Check rejects an item without a reference.
func (o Overlap) Check(item Item) error {
	if strings.TrimSpace(item.Reference) == "" {
		return fmt.Errorf("question %q has no reference_answer, with which --scorer %s compares", item.ID, o.metric)
	}
	return nil
}

// Score fails only for an item rejected by Check.
func (o Overlap) Score(_ context.Context, item Item) (Verdict, error) {
	if err := o.Check(item); err != nil {
		return Verdict{}, err
	}
	score := min(1, max(0, o.score(item.Answer, item)))
	return Verdict{Scored: true, Score: score, Reason: fmt.Sprintf("%s %.3f", o.metric, score)}, nil
}

func tokenF1(answer string, item Item) float64 {
	reference := item.Reference
	switch {
	case item.Type == TypeAbstention || item.Category == "adversarial":
		said := strings.ToLower(answer)
		if strings.Contains(said, "no information available") || strings.Contains(said, "not mentioned") {
			return 1
		}
		return 0
	case item.Category == "multi-hop":
		answers, references := strings.Split(answer, ","), strings.Split(reference, ",")
		sum := 0.0
		for _, r := range references {
			best := 0.0
			for _, a := range answers {
				best = max(best, f1(stems(a), stems(r)))
			}
			sum += best
		}
		return sum / float64(len(references))
	case item.Category == "open-domain":
		reference, _, _ = strings.Cut(reference, ";")
	}
	return f1(stems(answer), stems(reference))
}

// punctuation has the ASCII characters that LoCoMo removes.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

var articles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^\pL\pN\pM_])(a|an|the|and)($|[^\pL\pN\pM_])`) })

// stems returns the stems of a text by LoCoMo's rules, without punctuation and articles.
func stems(text string) (out []string) {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	for previous := ""; previous != text; { // neighbours share a space
		previous, text = text, articles().ReplaceAllString(text, "$1 $3")
	}
	for w := range strings.FieldsSeq(text) {
		out = append(out, stem(w))
	}
	return out
}

// common counts the words shared by two texts.
func common(a, b []string) (n int) {
	counts := map[string]int{}
	for _, w := range b {
		counts[w]++
	}
	for _, w := range a {
		if counts[w] > 0 {
			counts[w]--
			n++
		}
	}
	return n
}

func f1(answer, reference []string) float64 {
	n := float64(common(answer, reference))
	if n == 0 {
		return 0
	}
	precision, recall := n/float64(len(answer)), n/float64(len(reference))
	return 2 * precision * recall / (precision + recall)
}

// rougeL returns the F-measure of the longest common subsequence.
func rougeL(answer, reference []string) float64 {
	if len(answer) == 0 || len(reference) == 0 {
		return 0
	}
	row := make([]int, len(reference)+1)
	for _, a := range answer {
		diagonal := 0
		for j, r := range reference {
			above := row[j+1]
			if a == r {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	n := float64(row[len(reference)])
	if n == 0 {
		return 0
	}
	precision, recall := n/float64(len(answer)), n/float64(len(reference))
	return 2 * precision * recall / (precision + recall)
}

var wordOrSign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN\pM_]+|[^\s\pL\pN\pM_]`) })

// tokens returns the words and signs of a text in lower case.
func tokens(text string) []string { return wordOrSign().FindAllString(strings.ToLower(text), -1) }

// bleu1 returns BLEU with words only.
func bleu1(answer, reference []string) float64 {
	if len(answer) == 0 {
		return 0
	}
	matched := float64(common(answer, reference))
	if matched == 0 {
		return 0 // NLTK smooths only if some word is common
	}
	penalty := 1.0
	if len(answer) < len(reference) {
		penalty = math.Exp(1 - float64(len(reference))/float64(len(answer)))
	}
	return penalty * matched / float64(len(answer))
}

// Recall returns the share of the reference's stems in the answer, 0 for a reference without stems.
func Recall(answer, reference string) float64 {
	want := stems(reference)
	if len(want) == 0 {
		return 0
	}
	return float64(common(stems(answer), want)) / float64(len(want))
}
