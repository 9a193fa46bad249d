package scorer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	// stated finds an option that the answer names as its answer: "the answer is (b)", "Answer: b".
	stated = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:answer|option|choice|choose|select|pick)\b(?:\s+(?:is|would be))?\s*[:=]?\s*\**\s*` +
			`(?:\(([a-z])\)|([a-z])(?:[).:*]|\s*$))`)
	})
	// bracketed finds an option in parentheses.
	bracketed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\(([a-z])\)`)
	})
	// leading finds an option that an answer begins with: "b", "b)", "b. Because", "**b**".
	leading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*([a-z])(?:[).:*]|\s*$)`)
	})
)

// ChoiceOf returns the letter of the option that an answer to a multiple-choice question chooses: the
// last one that it calls its answer, else the only one in parentheses, else the one that it begins
// with. It is empty if none is, or if the answer names several and calls none its answer.
func ChoiceOf(answer string) string {
	if found := letters(stated().FindAllStringSubmatch(answer, -1)); len(found) > 0 {
		return found[len(found)-1]
	}
	found := letters(bracketed().FindAllStringSubmatch(answer, -1))
	slices.Sort(found)
	switch found = slices.Compact(found); len(found) {
	case 0:
		if found = letters(leading().FindAllStringSubmatch(answer, 1)); len(found) == 1 {
			return found[0]
		}
	case 1:
		return found[0]
	}
	return ""
}

// letters returns the group of each match that is not empty, in lower case.
func letters(matches [][]string) (out []string) {
	for _, m := range matches {
		out = append(out, strings.ToLower(strings.Join(m[1:], "")))
	}
	return out
}

// chooses reports whether an answer chooses an option.
func chooses(answer, want string) (holds bool, reason string) {
	got := ChoiceOf(answer)
	if got == "" {
		return false, "the answer chooses no option, or several"
	}
	return got == strings.ToLower(want), fmt.Sprintf("the answer chooses (%s)", got)
}
