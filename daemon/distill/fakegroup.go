package distill

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"evalctl/internal/llm"
)

const (
	// minShared is how many rare terms two notes on one subject share at least, and minShare the
	// least share of the shorter note's terms.
	minShared = 2
	minShare  = 0.3
	// maxGroup limits the notes of a group.
	maxGroup = 20
)

// commonTerms say nothing about a subject.
var commonTerms = sync.OnceValue(func() map[string]bool {
	return llm.Terms(`like love go going went get got make made take took think know want need feel see saw
	say said tell come came try look find give time day thing people really lot year week month today
	yesterday tomorrow last next new good great much many one two first way something everything asked
	january february march april may june july august september october november december
	monday tuesday wednesday thursday friday saturday sunday about user assistant`)
})

var pleasantTerms = sync.OnceValue(func() map[string]bool {
	return llm.Terms(strings.Join(slices.Sorted(maps.Keys(pleasantries)), " "))
})

// groups divides notes by subject, in the order of the first note of each. Two notes are on one
// subject if they have the same title, or enough rare terms in common. A note is compared only with
// the first of each group: otherwise chains of notes would join unrelated subjects.
func groups(notes []noteInput) [][]noteInput {
	terms, rare := noteTerms(notes)
	var out [][]noteInput
	var first []int              // the note that began each group
	byTitle := map[string]int{}  // group of a title
	byTerm := map[string][]int{} // groups whose first note has the term
	for i, n := range notes {
		title := plainWords(n.Title)
		g, found := byTitle[title]
		if !found || title == "" || len(out[g]) == maxGroup {
			g = nearest(i, terms, first, byTerm, func(g int) bool { return len(out[g]) < maxGroup })
		}
		if g >= 0 {
			out[g] = append(out[g], n)
			continue
		}
		g = len(out)
		out = append(out, []noteInput{n})
		first = append(first, i)
		byTitle[title] = g
		for t := range terms[i] {
			if rare[t] {
				byTerm[t] = append(byTerm[t], g)
			}
		}
	}
	return out
}

// nearest returns the group whose first note shares most rare terms with note i, or -1.
func nearest(i int, terms []map[string]bool, first []int, byTerm map[string][]int, open func(group int) bool) int {
	shared := map[int]int{}
	for t := range terms[i] {
		for _, g := range byTerm[t] {
			shared[g]++
		}
	}
	best := -1
	for _, g := range slices.Sorted(maps.Keys(shared)) {
		n := float64(shared[g])
		size := min(len(terms[i]), len(terms[first[g]]))
		if n >= minShared && n >= minShare*float64(size) && open(g) && (best < 0 || shared[g] > shared[best]) {
			best = g
		}
	}
	return best
}

// noteTerms returns the terms of each note, and those that are rare among the notes.
func noteTerms(notes []noteInput) (terms []map[string]bool, rare map[string]bool) {
	count := map[string]int{}
	for _, n := range notes {
		set := llm.Terms(n.Title)
		if len(set) < minShared {
			set = llm.Terms(withoutSpeaker(n.Text))
		}
		maps.DeleteFunc(set, func(t string, _ bool) bool { return commonTerms()[t] || pleasantTerms()[t] })
		terms = append(terms, set)
		for t := range set {
			count[t]++
		}
	}
	rare = map[string]bool{}
	for t, n := range count {
		rare[t] = n <= max(4, len(notes)/8)
	}
	return terms, rare
}

// withoutSpeaker returns a statement without the name in front of it.
func withoutSpeaker(text string) string {
	const most = 40 // bytes of a name
	name, rest, ok := strings.Cut(text, ": ")
	if !ok || len(name) > most {
		return text
	}
	return rest
}

// subject names the subject of the notes: their title if they have one, else words that the first
// note shares with another one.
func subject(group []noteInput) string {
	for _, n := range group {
		if n.Title != "" {
			return shorten(n.Title, maxFakeTitle)
		}
	}
	terms, _ := noteTerms(group)
	const most = 5 // words
	var words []string
	seen := map[string]bool{}
	for _, word := range strings.Fields(strings.Map(onlyWords, withoutSpeaker(group[0].Text))) {
		for _, t := range slices.Sorted(maps.Keys(llm.Terms(word))) {
			others := slices.ContainsFunc(terms[1:], func(set map[string]bool) bool { return set[t] })
			if others && terms[0][t] && !seen[t] && len(words) < most {
				seen[t] = true
				words = append(words, word)
				break
			}
		}
	}
	if len(words) == 0 {
		return shorten(oneLine(group[0].Text), maxFakeTitle)
	}
	title := []rune(strings.Join(words, " "))
	title[0] = unicode.ToUpper(title[0])
	return shorten(string(title), maxFakeTitle)
}

// onlyWords replaces characters between words by a space.
func onlyWords(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' {
		return r
	}
	return ' '
}

// bySubject returns the notes in an order in which each group is together.
func bySubject(notes []noteInput) []noteInput {
	return slices.Concat(groups(notes)...)
}
