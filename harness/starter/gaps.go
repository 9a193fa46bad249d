package starter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"evalctl/harness/dataset"
	"evalctl/internal/prose"
	"evalctl/internal/redact"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// The length of a sentence with a gap, in words. A shorter one is too vague to be found, and a
// longer one is rarely a sentence.
const (
	minWords = 6
	maxWords = 40
)

// minAnswer is the minimum length of an answer, in characters. Shorter ones occur inside many
// words.
const minAnswer = 3

// gap is a sentence of a document with a gap. The missing part occurs once in all documents.
type gap struct {
	path, sentence string
	kind, answer   string
	before, after  string // of the gap in the sentence

	in func() scorer.Words // the words of the document
}

// question returns the sentence with the gap.
func (g *gap) question() string {
	return strings.TrimSpace(strings.TrimSpace(g.before) + " ___ " + strings.TrimSpace(g.after))
}

// kinds are the parts that may be left out of a sentence, in order of preference.
var kinds = []struct {
	name string
	in   *regexp.Regexp
}{
	{"date", regexp.MustCompile(`\b\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b`)},
	{"code", regexp.MustCompile(`\b(?:\pL+[-_.]?\d|\d+[-_.]?\pL)[\pL\d]*(?:[-_.:][\pL\d]+)*\b`)},
	{"number", regexp.MustCompile(`\b\d+(?:[.,:]\d+)*\b`)},
	{"name", regexp.MustCompile(`\p{Lu}[\pL'’-]+(?: \p{Lu}[\pL'’-]+)*`)},
}

// ask returns at most o.Size questions, taking documents in turn.
func (c *corpus) ask(ctx context.Context, docs []dataset.Doc, o Options) ([]dataset.Question, error) {
	random := rand.New(rand.NewPCG(o.Seed, 1))
	queues, alike := make([][]gap, len(docs)), map[string]int{}
	for i, d := range docs {
		queues[i] = c.gaps(ctx, d)
		c.gapped += len(queues[i])
		for _, g := range queues[i] {
			alike[g.shape()]++
		}
		random.Shuffle(len(queues[i]), func(a, b int) { queues[i][a], queues[i][b] = queues[i][b], queues[i][a] })
	}
	random.Shuffle(len(queues), func(a, b int) { queues[a], queues[b] = queues[b], queues[a] })
	clear := func(g gap) bool {
		return ctx.Err() == nil && alike[g.shape()] == 1 && c.once(g.answer) && c.only(g) && g.in().Quote(scorer.WordsOf(g.sentence))
	}
	var questions []dataset.Question
	for len(queues) > 0 && len(questions) < o.Size {
		for i := range queues {
			at := slices.IndexFunc(queues[i], clear)
			if at < 0 {
				queues[i] = nil
				continue
			}
			if len(questions) < o.Size {
				questions = append(questions, queues[i][at].ask(len(questions)+1))
			}
			queues[i] = queues[i][at+1:]
		}
		queues = slices.DeleteFunc(queues, func(q []gap) bool { return len(q) == 0 })
	}
	return questions, ctx.Err()
}

// shape returns the form that similar sentences share, such as lines of a log. These cannot be told
// apart without their numbers.
func (g *gap) shape() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return r
	}, visible.Words(g.question()))
}

// ask returns the question for a gap.
func (g *gap) ask(number int) dataset.Question {
	return dataset.Question{
		ID:                 fmt.Sprintf("gap-%03d", number),
		Question:           fmt.Sprintf("Which %s belongs in the gap of this sentence? %s", g.kind, g.question()),
		ExpectedSubstrings: []string{g.answer}, ReferenceAnswer: g.answer,
		ExpectedPaths: []string{g.path}, ExpectedEvidence: []string{g.sentence}, Tags: []string{g.kind},
	}
}

// corpus has statistics over all documents.
type corpus struct {
	text  string          // folded
	words map[string]int  // how often each folded word occurs
	small map[string]bool // words that occur with a small first letter

	sentences []string // folded

	gapped  int // sentences that may have a gap
	known   *redact.Redactor
	secrets Secrets // of the sentences that would have had a gap
}

func newCorpus(ctx context.Context, docs []dataset.Doc) (*corpus, error) {
	c := &corpus{words: map[string]int{}, small: map[string]bool{}}
	var text strings.Builder
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text.WriteString(visible.Words(string(d.Data)) + "\n")
		for s := range prose.Sentences(string(d.Data)) {
			c.sentences = append(c.sentences, visible.Words(s))
		}
		for _, w := range wordsOf(string(d.Data)) {
			folded := visible.Folded(w)
			c.words[folded]++
			if first, _ := utf8.DecodeRuneInString(w); unicode.IsLower(first) {
				c.small[folded] = true
			}
		}
	}
	c.text = text.String()
	return c, nil
}

// wordsOf returns the runs of letters and digits.
func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// once reports whether a text occurs once in all documents.
func (c *corpus) once(text string) bool { return strings.Count(c.text, visible.Words(text)) == 1 }

// only reports whether no other sentence of the documents fits around a gap, so that its question
// has one answer.
func (c *corpus) only(g gap) bool {
	own, before, after := visible.Words(g.sentence), visible.Words(g.before), visible.Words(g.after)
	return !slices.ContainsFunc(c.sentences, func(s string) bool {
		return s != own && len(s) >= len(before)+len(after) && strings.HasPrefix(s, before) && strings.HasSuffix(s, after)
	})
}

// gaps returns the sentences of a document that get a gap, in order, until ctx ends.
func (c *corpus) gaps(ctx context.Context, d dataset.Doc) []gap {
	var out []gap
	words := sync.OnceValue(func() scorer.Words { return scorer.WordsOf(string(d.Data)) })
	for s := range prose.Sentences(prose.WithoutCode(string(d.Data))) {
		if ctx.Err() != nil {
			break
		}
		n := len(strings.Fields(s))
		if n < minWords || n > maxWords || strings.ContainsAny(s, "|`<>{}\\") || strings.Contains(s, "](") || strings.Contains(s, "://") {
			continue
		}
		g, ok := c.gap(s)
		switch {
		case ok && maySecret(s, c.known):
			c.secrets.add(d.Path, string(d.Data), s)
		case ok:
			g.path, g.in = d.Path, words
			out = append(out, g)
		}
	}
	return out
}

// gap leaves out the first suitable part of a sentence.
func (c *corpus) gap(sentence string) (gap, bool) {
	for _, kind := range kinds {
		for _, at := range kind.in.FindAllStringIndex(sentence, -1) {
			start, end := at[0], at[1]
			if kind.name == "name" {
				start += c.ordinary(sentence[start:end], !hasWord(sentence[:start]))
			}
			before, after := sentence[:start], sentence[end:]
			if marked(before, after) || kind.name != "name" && amongDigits(before, after) {
				continue
			}
			if answer := sentence[start:end]; utf8.RuneCountInString(answer) >= minAnswer && c.rare(answer) {
				return gap{sentence: sentence, kind: kind.name, answer: answer, before: before, after: after}, true
			}
		}
	}
	return gap{}, false
}

// Digits beside a gap, with one mark or space between.
var (
	digitsBefore = regexp.MustCompile(`\d[.,: \x{a0}]$`)
	digitsAfter  = regexp.MustCompile(`^[.,: \x{a0}]\d`)
)

// hasWord reports whether a text has more than the marks of a list item, such as [x].
func hasWord(text string) bool {
	return slices.ContainsFunc(wordsOf(text), func(w string) bool { return utf8.RuneCountInString(w) > 1 })
}

// amongDigits reports whether the text between two others is only a part of a number, such as an
// address or a telephone number. A name never is.
func amongDigits(before, after string) bool {
	return digitsBefore.MatchString(before) || digitsAfter.MatchString(after)
}

// marked reports whether the text between two others is only a part of something, such as 409 of
// .409 or of U+0409, or is emphasised, so that a gap would leave marks beside it.
func marked(before, after string) bool {
	return strings.HasSuffix(strings.TrimRight(before, "*_"), ".") || before != strings.TrimRight(before, "*_+-–/#=@~^±") ||
		after != strings.TrimLeft(after, "*_+-–/=@~^")
}

// ordinary returns the length of the leading words of a name that do not belong to it: the first
// word of a sentence, and words that also occur in lower case.
func (c *corpus) ordinary(name string, first bool) int {
	length := 0
	for word := range strings.SplitAfterSeq(name, " ") {
		if leading := first && length == 0; !leading && !c.small[visible.Words(word)] {
			break
		}
		length += len(word)
	}
	return length
}

// rare reports whether a text has a word that occurs once in all documents.
func (c *corpus) rare(text string) bool {
	return slices.ContainsFunc(wordsOf(text), func(w string) bool { return c.words[visible.Folded(w)] == 1 })
}
