package language

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Phrase is a sequence of words as they are written, ignoring case and accents that people leave
// out. Words are not stemmed, and an apostrophe separates two words. The zero Phrase has no words
// and is found nowhere.
type Phrase struct {
	runes  []rune // folded, with a gap between two words
	prefix bool
	signs  string // of a phrase without letters, which is found as it is
}

// gap separates two words of a phrase, except two letters of scripts without spaces.
const gap rune = -1

// NewPhrase returns the phrase of the words of a text. With prefix, its last word also matches the
// beginning of a longer word.
func NewPhrase(text string, prefix bool) Phrase {
	p := Phrase{prefix: prefix}
	walk := walker{text: text}
	for walk.next() {
		if walk.gap && len(p.runes) > 0 {
			p.runes = append(p.runes, gap)
		}
		p.runes = append(p.runes, walk.folded...)
	}
	return p
}

// AsWritten returns the phrase of the words of a text, or of its signs if it has no words.
func AsWritten(text string) Phrase {
	p := NewPhrase(text, false)
	if p.Empty() {
		p.signs = strings.TrimSpace(text)
	}
	return p
}

// Empty reports whether the phrase has neither words nor signs.
func (p Phrase) Empty() bool { return len(p.runes) == 0 && p.signs == "" }

// findSigns is Find of signs.
func (p Phrase) findSigns(text string, yield func(start, end int) bool) {
	for at := 0; ; {
		i := strings.Index(text[at:], p.signs)
		if i < 0 || !yield(at+i, at+i+len(p.signs)) {
			return
		}
		at += i + len(p.signs)
	}
}

// Find yields the places in a text where the words of the phrase follow each other, whatever is
// between them: each as its start and its end in bytes, in order, without overlaps.
func (p Phrase) Find(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		if p.Empty() {
			return
		}
		if p.signs != "" {
			p.findSigns(text, yield)
			return
		}
		table, first := letters(), p.runes[0]
		inside := false // a word of letters and digits that began before
		for i := 0; i < len(text); {
			size, starts := 1, false             // whether a word starts here, with the first letter
			if c := text[i]; c < utf8.RuneSelf { // most letters of most texts
				folded := asciiFold[c]
				starts = !inside && rune(folded) == first
				inside = folded != 0
			} else {
				var r rune
				var k kind
				var folded rune // the beginning of it
				if r, size = utf8.DecodeRuneInString(text[i:]); int(r) < len(table.kinds) {
					k, folded = table.kinds[r], table.folds[r]
				} else {
					k, folded = newKind(r), firstOf(foldLetter(r))
				}
				starts = folded == first && (k == unspacedLetter || k == spacedLetter && !inside)
				inside = k == spacedLetter || (k == mark || k == hidden) && inside
			}
			if starts {
				if end, ok := p.matches(text, i); ok {
					if !yield(i, end) {
						return
					}
					i, inside = end, p.prefix
					continue
				}
			}
			i += size
		}
	}
}

// In reports whether the phrase is in a text.
func (p Phrase) In(text string) bool {
	for range p.Find(text) {
		return true
	}
	return false
}

// matches reports whether the phrase is in text at i, where a word begins, and where it ends there.
func (p Phrase) matches(text string, i int) (end int, ok bool) {
	walk := walker{text: text, at: i}
	left := p.runes
	for len(left) > 0 {
		if !walk.next() {
			return 0, false
		}
		if len(walk.folded) == 0 { // an accent
			continue
		}
		if walk.start > i { // not the first letter
			if walk.gap != (left[0] == gap) {
				return 0, false
			}
			if walk.gap {
				left = left[1:]
			}
		}
		for _, r := range walk.folded {
			if len(left) == 0 && p.prefix {
				break // within a ligature
			}
			if len(left) == 0 || r != left[0] {
				return 0, false
			}
			left = left[1:]
		}
	}
	end = walk.at
	if p.prefix && walk.kind == spacedLetter {
		return end, true
	}
	// The word ends here if the next letter begins another one. Accents belong to the last letter.
	last := walk.kind
	for walk.next() {
		if walk.gap || last == unspacedLetter && !walk.mark {
			return end, true
		}
		if len(walk.folded) > 0 {
			return 0, false
		}
		end = walk.at
	}
	return end, true
}

// walker reads the letters of a text.
type walker struct {
	text   string
	at     int    // the end of the letter that was read last
	start  int    // its start
	kind   kind   // of that letter; a mark has the kind of the letter before it
	folded []rune // the letter, see appendFolded
	gap    bool   // whether another word begins with it
	mark   bool   // whether it is a mark
	base   script // of the last letter other than a mark
}

// next reads the next letter, digit or mark.
func (w *walker) next() bool {
	separated := false
	for w.at < len(w.text) {
		r, size := decode(w.text, w.at)
		k := kindOf(r)
		w.start, w.at = w.at, w.at+size
		if k == hidden {
			continue
		}
		if k == noLetter || k == mark && (separated || w.kind == noLetter) {
			separated = true // by a mark without a letter, too
			continue
		}
		before := w.kind
		if w.mark = k == mark; w.mark {
			k = before
		}
		w.gap = (separated || k != before) && (k == spacedLetter || before == spacedLetter)
		w.kind = k
		w.folded, w.base = appendFolded(w.folded[:0], r, w.base)
		return true
	}
	w.start = len(w.text)
	return false
}

// kind is the role of a code point in a word.
type kind uint8

const (
	noLetter       kind = iota
	spacedLetter        // or a digit
	unspacedLetter      // of a script without spaces, or Korean
	mark                // belongs to the letter before it
	hidden              // shows nothing and separates nothing
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf && asciiFold[r] == 0:
		return noLetter
	case r < utf8.RuneSelf:
		return spacedLetter
	case int(r) < len(letters().kinds):
		return letters().kinds[r]
	}
	return newKind(r)
}

func newKind(r rune) kind {
	switch {
	case unicode.IsMark(r):
		return mark
	case joins(r):
		return hidden
	case !isWord(r):
		return noLetter
	case scriptOf(r).unspaced():
		return unspacedLetter
	}
	return spacedLetter
}

// letterTable caches the properties of the code points of Unicode's basic plane: looking each of
// them up takes several times as long as reading the text.
type letterTable struct {
	kinds [1 << 16]kind
	folds [1 << 16]rune // the first code point of the folded letter; 0 if it has none
	more  map[rune][]rune
}

var letters = sync.OnceValue(func() *letterTable {
	t := &letterTable{more: map[rune][]rune{}}
	for r := range rune(len(t.kinds)) {
		if t.kinds[r] = newKind(r); t.kinds[r] == noLetter || t.kinds[r] == mark || t.kinds[r] == hidden {
			continue
		}
		folded := foldLetter(r)
		t.folds[r] = firstOf(folded)
		if len(folded) > 1 {
			t.more[r] = folded
		}
	}
	return t
})

func firstOf(runes []rune) rune {
	if len(runes) == 0 {
		return 0
	}
	return runes[0]
}

// appendFolded appends the rest of a letter or mark after fold. An accent that is optional on base,
// the script of the letter before it, is left out. It returns the base of the next mark.
func appendFolded(to []rune, r rune, base script) ([]rune, script) {
	switch {
	case r < utf8.RuneSelf:
		return append(to, rune(asciiFold[r])), latinScript
	case kindOf(r) == mark:
		for _, m := range norm.NFKD.String(string(r)) {
			if !isHidden(m) && (!unicode.Is(unicode.Mn, m) || !optional(base, m)) {
				to = append(to, m)
			}
		}
		return to, base
	case int(r) >= len(letters().folds):
		return append(to, foldLetter(r)...), scriptOf(r)
	}
	t := letters()
	if more := t.more[r]; more != nil {
		to = append(to, more...)
	} else if f := t.folds[r]; f != 0 {
		to = append(to, f)
	}
	return to, scriptOf(r)
}
