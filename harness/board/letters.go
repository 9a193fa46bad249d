package board

import "slices"

// Letters returns a compact letter display: two items share a letter if, and only if, they are not
// marked as different. It inserts and absorbs columns (Piepho 2004, doi:10.1198/1061860043515). The
// first items get the first letters. After z come z1, z2 and so on.
func Letters(differ [][]bool) []string {
	n := len(differ)
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	columns := [][]bool{all}
	for i := range n {
		for j := i + 1; j < n; j++ {
			if differ[i][j] {
				columns = absorbed(split(columns, i, j))
			}
		}
	}
	slices.SortStableFunc(columns, func(a, b []bool) int { return slices.Index(a, true) - slices.Index(b, true) })
	letters := make([]string, n)
	for k, column := range columns {
		for i, in := range column {
			if in {
				letters[i] += letter(k)
			}
		}
	}
	return letters
}

// split replaces each column that has both i and j with one without i and one without j.
func split(columns [][]bool, i, j int) (out [][]bool) {
	for _, c := range columns {
		if !c[i] || !c[j] {
			out = append(out, c)
			continue
		}
		for _, left := range []int{i, j} {
			without := slices.Clone(c)
			without[left] = false
			out = append(out, without)
		}
	}
	return out
}

// absorbed removes the columns contained in another one.
func absorbed(columns [][]bool) (out [][]bool) {
	for k, c := range columns {
		part := slices.ContainsFunc(columns, func(o []bool) bool { return within(c, o) && !within(o, c) }) ||
			slices.ContainsFunc(columns[:k], func(o []bool) bool { return slices.Equal(c, o) })
		if !part {
			out = append(out, c)
		}
	}
	return out
}

// within reports whether all items of a are in b.
func within(a, b []bool) bool {
	for i := range a {
		if a[i] && !b[i] {
			return false
		}
	}
	return true
}

func letter(k int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz"
	if k < len(alphabet) {
		return alphabet[k : k+1]
	}
	digits := ""
	for n := k - len(alphabet) + 1; n > 0; n /= 10 {
		digits = string(rune('0'+n%10)) + digits
	}
	return "z" + digits
}
