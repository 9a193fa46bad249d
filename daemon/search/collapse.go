package search

// group is a chunk with those that say the very same.
type group struct {
	candidate
	duplicates []uint32 // in rank order
}

// collapse gives the first n of ranked whose texts differ, each with the other
// chunks of ranked that have its text. Only texts that are equal byte for byte count
// as the same; chunks carry no surrounding white space. Called with mu held.
func (ix *Index) collapse(ranked []candidate, n int) []group {
	groups := make([]group, 0, min(n, len(ranked)))
	byText := make(map[string]int, cap(groups))
	for _, c := range ranked {
		text := ix.chunks[c.chunk].text
		if i, ok := byText[text]; ok {
			groups[i].duplicates = append(groups[i].duplicates, c.chunk)
		} else if len(groups) < n {
			byText[text] = len(groups)
			groups = append(groups, group{candidate: c})
		}
	}
	return groups
}
