package mapping

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// excerpt is a sample with the part of its text shown in a reply.
type excerpt struct {
	*sample
	text string
}

// textPlace returns where a text reply has samples: a pattern for each item if the text between
// samples allows one, else the whole text.
func textPlace(reply string, samples []*sample) *place {
	var found []excerpt
	cut := false
	for _, s := range samples {
		if text := s.shownIn(reply); text != "" {
			found = append(found, excerpt{s, text})
			cut = cut || text != s.text
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b excerpt) int { return strings.Index(reply, a.text) - strings.Index(reply, b.text) })
	if len(found) > 1 {
		for _, p := range formsOf(reply, found) {
			if p.reads(reply, found) {
				p.cut = cut
				return p
			}
		}
	}
	return &place{plain: true, cut: cut}
}

// reads reports whether a place finds exactly the samples' texts and ids in a text.
func (p *place) reads(text string, samples []excerpt) bool {
	r := &reply{}
	var err error
	if r.pattern, err = regexp.Compile(p.pattern); err != nil {
		return false
	}
	if p.split != "" {
		if r.split, err = regexp.Compile(p.split); err != nil {
			return false
		}
	}
	items, err := r.readText([]string{text})
	if err != nil || len(items) != len(samples) {
		return false
	}
	for i, s := range samples {
		if items[i].text != s.text || p.hasID() && !slices.Contains(s.ids(), items[i].id) {
			return false
		}
	}
	return true
}

// token is a part of the text between samples: literal, or varying from item to item.
type token struct {
	text string
	any  string // a regular expression, "" for literal text
}

func (t token) equal(o token) bool {
	return t.any != "" && t.any == o.any || t.any == "" && o.any == "" && t.text == o.text
}

func (t token) expression() string {
	if t.any != "" {
		return t.any
	}
	return regexp.QuoteMeta(t.text)
}

// tokenForm matches a number or a time, a word, space, or any other character.
var tokenForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9]+(?:[.,:T-]*[0-9]+)*|[\pL_]+|\n+|[ \t]+|(?s:.)`)
})

const (
	anyID    = `(?P<id>[^\n]+?)`
	anyTitle = `[^\n]*?`
	anyCount = `[0-9][0-9.,:T-]*`
)

// tokens returns the tokens of a text between samples. Ids and titles of the samples beside it are
// replaced by patterns.
func tokens(text string, beside ...*sample) (all []token) {
	var marks []string
	for _, s := range beside {
		for _, id := range s.ids() {
			marks = append(marks, id, nameOf(id))
		}
		marks = append(marks, s.title)
	}
	marks = slices.DeleteFunc(marks, func(m string) bool { return m == "" })
	for text != "" {
		at, mark := len(text), ""
		for _, m := range marks {
			if i := strings.Index(text, m); i >= 0 && (i < at || i == at && len(m) > len(mark)) {
				at, mark = i, m
			}
		}
		for _, t := range tokenForm().FindAllString(text[:at], -1) {
			one := token{text: t}
			if t[0] >= '0' && t[0] <= '9' {
				one.any = anyCount
			}
			all = append(all, one)
		}
		text = text[at:]
		if mark != "" {
			text = text[len(mark):]
			one := token{any: anyID}
			if slices.ContainsFunc(beside, func(s *sample) bool { return s.title == mark }) {
				one.any = anyTitle
			}
			all = append(all, one)
		}
	}
	return all
}

// formsOf returns candidate patterns for the items of a reply. found are its samples in order.
func formsOf(reply string, found []excerpt) (places []*place) {
	start := strings.Index(reply, found[0].text)
	before := [][]token{tokens(reply[:start], found[0].sample)}
	after := [][]token{}
	for i := 0; i+1 < len(found); i++ {
		from := strings.Index(reply, found[i].text) + len(found[i].text)
		between := reply[from:strings.Index(reply, found[i+1].text)]
		before = append(before, tokens(between, found[i+1].sample))
		after = append(after, tokens(between, found[i].sample))
	}
	last := strings.Index(reply, found[len(found)-1].text) + len(found[len(found)-1].text)
	after = append(after, tokens(reply[last:], found[len(found)-1].sample))
	head, tail := fromLine(commonEnd(before)), toEnd(commonBeginning(after))
	for len(head) > 0 { // its first lines may belong to the item before
		if len(tail) > 0 {
			places = append(places, &place{plain: true, pattern: "(?ms)^" + expression(head) + "(?P<text>.*?)" + expression(untilID(tail))})
		}
		if n := literal(head); n > 0 {
			begin := expression(head[:n]) // with the heading before the first item
			places = append(places, &place{
				plain: true, split: `(?ms)\A.*?^` + begin + "|^" + begin, pattern: "(?s)^" + expression(head[n:]) + "(?P<text>.*)$",
			}, &place{ // what follows the last item may be more than the end of an item
				plain: true, pattern: "(?ms)^" + expression(head) + `(?P<text>.*?)(?:\n\s*\n|\z)`,
			})
		}
		at := slices.IndexFunc(head, func(t token) bool { return strings.HasPrefix(t.text, "\n") })
		if at < 0 {
			break
		}
		head = fromLine(head[at:])
	}
	return places
}

// literal returns how many leading tokens are the same in every item, up to the first id or title.
// It is 0 if they are only space or numbers.
func literal(all []token) int {
	for i, t := range all {
		if t.any == anyID || t.any == anyTitle {
			return visible(all, i)
		}
	}
	return visible(all, len(all))
}

func visible(all []token, n int) int {
	for _, t := range all[:n] {
		if t.any == "" && strings.TrimSpace(t.text) != "" {
			return n
		}
	}
	return 0
}

// untilID returns the tokens up to an id, or of the first line if there is no id.
func untilID(all []token) []token {
	for i, t := range all {
		if t.any == anyID {
			return append(slices.Clone(all[:i]), token{any: `(?P<id>[^\s)\]}"',;]+)`})
		}
	}
	for i, t := range all {
		if i > 0 && strings.HasPrefix(t.text, "\n") {
			return all[:i]
		}
	}
	return all
}

func commonBeginning(all [][]token) []token {
	n := 0
	for ; ; n++ {
		for _, one := range all {
			if n >= len(one) || !one[n].equal(all[0][n]) {
				return all[0][:n]
			}
		}
	}
}

func commonEnd(all [][]token) []token {
	reversed := make([][]token, len(all))
	for i, one := range all {
		reversed[i] = slices.Clone(one)
		slices.Reverse(reversed[i])
	}
	common := slices.Clone(commonBeginning(reversed))
	slices.Reverse(common)
	return common
}

// blank reports whether a token is whitespace.
func (t token) blank() bool { return t.any == "" && strings.TrimSpace(t.text) == "" }

// fromLine returns the tokens without leading blanks.
func fromLine(all []token) []token {
	for len(all) > 0 && all[0].blank() {
		all = all[1:]
	}
	return all
}

// toEnd returns the tokens without trailing blanks.
func toEnd(all []token) []token {
	for len(all) > 0 && all[len(all)-1].blank() {
		all = all[:len(all)-1]
	}
	return all
}

// expression returns a regular expression for the tokens. Only the first id becomes a group.
func expression(all []token) string {
	var b strings.Builder
	ids := 0
	for _, t := range all {
		if t.any == anyID {
			if ids++; ids > 1 {
				t.any = anyTitle
			}
		}
		b.WriteString(t.expression())
	}
	return b.String()
}
