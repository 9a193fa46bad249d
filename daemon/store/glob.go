package store

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// glob is a compiled pattern for base names (spec 2, Path rules): one expression for each part
// between stars. The first is anchored at the start of a name and the last at its end.
type glob []*regexp.Regexp

// compileGlob translates `*`, `?` and `[set]` with ranges, negated by a leading `!` or `^`. A `]`
// that comes first in a set is a member of it. There is no escape character, because paths contain
// no backslash.
//
// A malformed pattern is ErrInvalidPath, and so is a pattern longer than a path may be, which
// bounds the work of a match.
func compileGlob(pattern string) (glob, error) {
	if utf8.RuneCountInString(pattern) > MaxPathChars {
		return nil, invalid(fmt.Sprintf("glob pattern longer than %d characters", MaxPathChars))
	}
	if !utf8.ValidString(pattern) {
		return nil, invalid("glob pattern is not valid UTF-8")
	}
	part, parts := `\A`, []string{}
	for rest := []rune(pattern); len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '*':
			parts = append(parts, part)
			part = ""
		case '?':
			part += "."
		case '[':
			set, after, err := translateSet(rest)
			if err != nil {
				return nil, err
			}
			part, rest = part+set, after
		default:
			part += regexp.QuoteMeta(string(c))
		}
	}
	var g glob
	for _, part := range append(parts, part+`\z`) {
		if part == "" || part == `\A` || part == `\z` {
			continue // an empty part next to a star matches anywhere
		}
		expr, err := regexp.Compile("(?s)" + part) // names may contain newlines
		if err != nil {
			return nil, err
		}
		g = append(g, expr)
	}
	return g, nil
}

// translateSet translates a set whose opening bracket is already consumed. It also returns the text
// after the closing bracket.
func translateSet(rest []rune) (set string, after []rune, err error) {
	set = "["
	if len(rest) > 0 && (rest[0] == '!' || rest[0] == '^') {
		set = "[^"
		rest = rest[1:]
	}
	for first := true; len(rest) > 0; first = false {
		if rest[0] == ']' && !first {
			return set + "]", rest[1:], nil
		}
		low, high, used := rest[0], rest[0], 1
		if len(rest) > 2 && rest[1] == '-' && rest[2] != ']' {
			high, used = rest[2], 3
		}
		if low > high {
			return "", nil, invalid("glob pattern has a range that runs backwards")
		}
		set += fmt.Sprintf(`\x{%x}-\x{%x}`, low, high)
		rest = rest[used:]
	}
	return "", nil, invalid("glob pattern has an unclosed [")
}

// match reports whether the whole name matches. Each part has a fixed length, so its leftmost match
// leaves as much of the name as possible to the parts after it.
func (g glob) match(name string) bool {
	for _, part := range g {
		at := part.FindStringIndex(name)
		if at == nil {
			return false
		}
		name = name[at[1]:]
	}
	return true
}
