package store

import (
	"fmt"
	"unicode/utf8"
)

// glob is a compiled base-name pattern (spec 2): `*`, `?`, `[set]` with ranges,
// negated by a leading `!` or `^`; a `]` that comes first in a set is a member
// of it. There is no escape character, as no path holds a backslash.
type glob []element

type element struct {
	star   bool
	any    bool
	negate bool
	ranges []runeRange // a literal is a set of one
}

type runeRange struct{ low, high rune }

// compileGlob reports a malformed pattern as ErrInvalidPath. Patterns are as
// limited in length as paths are, which bounds the work of a match.
func compileGlob(pattern string) (glob, error) {
	if utf8.RuneCountInString(pattern) > MaxPathChars {
		return nil, invalid(fmt.Sprintf("glob pattern longer than %d characters", MaxPathChars))
	}
	if !utf8.ValidString(pattern) {
		return nil, invalid("glob pattern is not valid UTF-8")
	}
	var g glob
	for rest := []rune(pattern); len(rest) > 0; {
		var e element
		switch c := rest[0]; c {
		case '*':
			e.star = true
			rest = rest[1:]
			if len(g) > 0 && g[len(g)-1].star {
				continue
			}
		case '?':
			e.any = true
			rest = rest[1:]
		case '[':
			var err error
			if e, rest, err = compileSet(rest[1:]); err != nil {
				return nil, err
			}
		default:
			e.ranges = []runeRange{{c, c}}
			rest = rest[1:]
		}
		g = append(g, e)
	}
	return g, nil
}

// compileSet reads a set whose opening bracket is already consumed and returns
// what follows its closing bracket.
func compileSet(rest []rune) (element, []rune, error) {
	var e element
	if len(rest) > 0 && (rest[0] == '!' || rest[0] == '^') {
		e.negate = true
		rest = rest[1:]
	}
	for first := true; ; first = false {
		if len(rest) == 0 {
			return e, nil, invalid("glob pattern has an unclosed [")
		}
		if rest[0] == ']' && !first {
			return e, rest[1:], nil
		}
		r := runeRange{rest[0], rest[0]}
		if len(rest) > 2 && rest[1] == '-' && rest[2] != ']' {
			r.high = rest[2]
			rest = rest[3:]
		} else {
			rest = rest[1:]
		}
		if r.low > r.high {
			return e, nil, invalid("glob pattern has a range that runs backwards")
		}
		e.ranges = append(e.ranges, r)
	}
}

// match reports whether the whole of name fits. On a mismatch only the last
// star can usefully take one more character, so the work is at most
// len(pattern) times len(name).
func (g glob) match(name string) bool {
	text := []rune(name)
	at, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		switch {
		case at < len(g) && g[at].star:
			star, resume = at, t
			at++
		case at < len(g) && g[at].matches(text[t]):
			at++
			t++
		case star >= 0:
			resume++
			at, t = star+1, resume
		default:
			return false
		}
	}
	for at < len(g) && g[at].star {
		at++
	}
	return at == len(g)
}

func (e element) matches(c rune) bool {
	if e.any {
		return true
	}
	for _, r := range e.ranges {
		if r.low <= c && c <= r.high {
			return !e.negate
		}
	}
	return e.negate
}
