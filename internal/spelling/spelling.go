// Package spelling compares names, to suggest the one that was meant.
package spelling

import "strings"

// Distance returns the least number of bytes to insert, delete or replace between a and b
// (Levenshtein distance). It takes time in proportion to the product of their lengths.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the one of names that key was probably meant to be, "" if none is similar. Upper
// case and underscores do not matter.
func Nearest(key string, names []string) string {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }
	best, least := "", max(2, len(key)/3)+1
	if len(key) > maxKey {
		return ""
	}
	for _, name := range names {
		if d := Distance(plain(key), plain(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// maxKey is the longest key that is compared.
const maxKey = 80
