package scorer

import (
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/visible"
)

// matches reports whether a valid regular expression matches part of an answer, either unchanged or
// in the form of visible.Text. In the latter case, typographic characters in the expression also
// match their keyboard equivalents.
func matches(pattern, answer string) bool {
	if regexp.MustCompile(pattern).MatchString(answer) {
		return true
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	typed(tree)
	re, err := regexp.Compile(tree.String())
	return err == nil && re.MatchString(visible.Text(answer))
}

// typed rewrites the literals and classes of an expression to the form of visible.Text.
func typed(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		if text := []rune(visible.Text(string(re.Rune))); len(text) > 0 {
			re.Rune = text
		} else {
			re.Op, re.Rune = syntax.OpEmptyMatch, nil
		}
	case syntax.OpCharClass:
		if excludes(re.Rune) {
			break
		}
		for _, r := range typographic {
			if inClass(re.Rune, r) && !inClass(re.Rune, visible.Typed(r)) {
				re.Rune = append(re.Rune, visible.Typed(r), visible.Typed(r))
			}
		}
	}
	for _, sub := range re.Sub {
		typed(sub)
	}
}

// typographic are the typographic characters likely to occur in a class.
var typographic = []rune("‘’‛ʼ“”„‟−‐‑–—\u00a0\u2007\u2009\u202f\u3000")

// excludes reports whether a class was written as an exclusion.
func excludes(class []rune) bool { return len(class) > 0 && class[len(class)-1] == unicode.MaxRune }

// inClass reports whether a class, a list of ranges, contains a character.
func inClass(class []rune, r rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= r && r <= class[i+1] {
			return true
		}
	}
	return false
}

// Unmatchable explains why an expression will not match as its author intended, empty if no problem
// is known. Boundaries and classes of RE2 cover ASCII letters only.
func Unmatchable(pattern string) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || !boundaryBesideLetter(tree) {
		return ""
	}
	return `\b and \B see the letters of ASCII only: beside another letter write (?:^|\PL) and (?:\PL|$)`
}

// boundaryBesideLetter reports whether a word boundary is next to a non-ASCII letter.
func boundaryBesideLetter(re *syntax.Regexp) bool {
	for i, sub := range re.Sub {
		if boundaryBesideLetter(sub) {
			return true
		}
		if re.Op != syntax.OpConcat || sub.Op != syntax.OpWordBoundary && sub.Op != syntax.OpNoWordBoundary {
			continue
		}
		if i > 0 && otherLetter(re.Sub[i-1], true) || i+1 < len(re.Sub) && otherLetter(re.Sub[i+1], false) {
			return true
		}
	}
	return false
}

// otherLetter reports whether an expression begins, or ends if last is set, with a non-ASCII
// letter.
func otherLetter(re *syntax.Regexp, last bool) bool {
	switch {
	case re.Op == syntax.OpLiteral && last:
		return isOther(re.Rune[len(re.Rune)-1])
	case re.Op == syntax.OpLiteral:
		return isOther(re.Rune[0])
	case re.Op == syntax.OpCharClass:
		return len(re.Rune) > 0 && isOther(re.Rune[0])
	case re.Op == syntax.OpCapture, re.Op == syntax.OpAlternate:
		for _, sub := range re.Sub {
			if otherLetter(sub, last) {
				return true
			}
		}
	case re.Op == syntax.OpConcat && last:
		return otherLetter(re.Sub[len(re.Sub)-1], last)
	case re.Op == syntax.OpConcat:
		return otherLetter(re.Sub[0], last)
	}
	return false
}

func isOther(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }
