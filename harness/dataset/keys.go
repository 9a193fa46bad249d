package dataset

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"evalctl/internal/spelling"
)

// questionSynonyms map other names for a question's keys, normalized by letters, to the known keys.
var questionSynonyms = map[string]string{
	"questionid": "id", "qid": "id",
	"query": "question", "prompt": "question",
	"expected": "expected_substrings", "substrings": "expected_substrings",
	"expectedstrings": "expected_substrings", "expectedkeywords": "expected_substrings",
	"mustcontain": "expected_substrings",
	"answer":      "reference_answer", "answers": "reference_answer", "reference": "reference_answer",
	"expectedanswer": "reference_answer", "goldanswer": "reference_answer",
	"correctanswer": "reference_answer", "groundtruth": "reference_answer",
	"paths": "expected_paths", "gold": "expected_paths", "goldpaths": "expected_paths",
	"golddocuments": "expected_paths", "expecteddocuments": "expected_paths",
	"relevantdocuments": "expected_paths", "relevantpaths": "expected_paths",
	"assertions": "checks", "asserts": "checks", "assert": "checks", "criteria": "checks",
	"date": "question_date", "askedat": "question_date",
	"brainid":    "brain",
	"operations": "before", "forbid": "forbidden", "asofdate": "as_of",
}

// documentSynonyms map other names for a document's keys, normalized by letters, to the known keys.
var documentSynonyms = map[string]string{
	"file": "path", "filename": "path", "filepath": "path", "docid": "path", "documentid": "path",
	"id": "path", "heading": "title", "content": "text", "contents": "text", "body": "text",
	"markdown": "text", "documentdate": "date", "brainid": "brain",
}

// letters normalizes a key to lower-case letters and digits, so that questionDate and "Question
// Date" equal question_date.
func letters(key string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
}

// keyNames suggests meanings for unknown keys in one file. It is not safe for concurrent use.
type keyNames struct {
	synonyms map[string]string
	// meanings caches the known keys that an unknown one may mean.
	meanings map[string][]string
}

func newKeyNames(synonyms map[string]string) *keyNames {
	return &keyNames{synonyms, map[string][]string{}}
}

func questionKeys() *keyNames { return newKeyNames(questionSynonyms) }

func documentKeys() *keyNames { return newKeyNames(documentSynonyms) }

const (
	// longestKey limits the length of a key that is compared with known ones.
	longestKey = 64
	// keptMeanings limits the size of the cache.
	keptMeanings = 1000
)

// meant returns the fields that an unknown key may mean, most probable first.
func (n *keyNames) meant(unknown string, fields []field) []string {
	if len(unknown) > longestKey {
		return nil
	}
	if keys, ok := n.meanings[unknown]; ok {
		return keys
	}
	var keys []string
	s := letters(unknown)
	if k := n.synonyms[s]; k != "" {
		keys = append(keys, k)
	}
	for _, f := range fields {
		if misspelt(s, letters(f.key)) {
			keys = append(keys, f.key)
		}
	}
	if len(n.meanings) < keptMeanings {
		n.meanings[unknown] = keys
	}
	return keys
}

// shortKey is the length up to which a changed letter makes another word: data is not date, and
// train is not brain.
const shortKey = 5

// misspelt reports whether s is a likely misspelling of a known key. Keys of up to two letters may
// differ only in case.
func misspelt(s, known string) bool {
	switch n := len(known); {
	case s == known:
		return true
	case n <= 2:
		return false
	case n <= shortKey:
		return (len(s) == n-1 || len(s) == n+1) && spelling.Distance(s, known) == 1 || swapped(s, known)
	default:
		return len(s) >= n-2 && len(s) <= n+2 && spelling.Distance(s, known) <= 2
	}
}

// swapped reports whether a and b differ only in two adjacent exchanged letters.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// meant returns a question that suggests the name that given may be misspelt from, or "".
func meant(given string, names iter.Seq[string]) string {
	if len(given) > longestKey {
		return ""
	}
	var found []string
	for name := range names {
		if len(name) <= longestKey && misspelt(given, name) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", slices.Min(found))
}

// check returns an error for the first unknown key that probably means a field missing from the
// line.
func (n *keyNames) check(unknown []string, fields []field) error {
	for _, u := range unknown {
		for _, k := range n.meant(u, fields) {
			if !slices.ContainsFunc(fields, func(f field) bool { return f.key == k && f.given }) {
				return fmt.Errorf("unknown field %q: did you mean %q?", u, k)
			}
		}
	}
	return nil
}

// countKeys adds a line's unknown keys to the file's counts.
func countKeys(counts *map[string]int, unknown []string) {
	if *counts == nil && len(unknown) > 0 {
		*counts = map[string]int{}
	}
	for _, u := range unknown {
		(*counts)[u]++
	}
}
