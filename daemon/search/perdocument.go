package search

// limitDocuments returns the first n of ranked, in their order, without those that exceed the
// query's limit for each document. If places are left and the query fills them, the first of these
// take them. It reuses the memory of ranked.
func limitDocuments[T any, D comparable](ranked []T, n int, q Query, document func(T) D) []T {
	if q.MaxPerDocument == 0 {
		return ranked[:min(n, len(ranked))]
	}
	count, taken := map[D]int{}, make([]bool, len(ranked))
	free := n
	for i, r := range ranked {
		if free == 0 {
			break
		}
		d := document(r)
		if count[d]++; count[d] <= q.MaxPerDocument {
			taken[i] = true
			free--
		}
	}
	chosen := ranked[:0]
	for i, r := range ranked {
		if q.FillPlaces && free > 0 && !taken[i] {
			taken[i] = true
			free--
		}
		if taken[i] {
			chosen = append(chosen, r)
		}
	}
	return chosen
}
