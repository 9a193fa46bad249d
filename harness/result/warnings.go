package result

// Guard is a reason to doubt the measures of retrieval: something makes them
// trivial, or meaningless.
type Warning struct {
	// Kind is a stable name.
	Kind string `json:"kind"`
	// Message says what is the matter and what to do. It may quote the dataset.
	Message string `json:"message"`
	// Count is how many questions are concerned, and IDs has the first of them.
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// TopKCoversBrain is the Kind of the guard that recall cannot fail: top-k is as
// large as the brain.
const TopKCoversBrain = "top_k_covers_brain"

// guardIDs is how many questions a guard names.
const warningIDs = 5

func (g *Warning) AddID(id string) {
	if g.Count++; g.Count <= warningIDs {
		g.IDs = append(g.IDs, id)
	}
}

// guards are those that only the answers show.
func (m *retrievalAggregate) warnings() []Warning {
	answered := m.all.n - m.errors
	deepest := m.all.pools[len(m.all.pools)-1]
	switch {
	case answered > 0 && deepest.documents == 0:
		return []Warning{{
			Kind: "nothing_retrieved", Count: answered, IDs: []string{},
			Message: "no answer tells what was retrieved, so that every figure is 0: fill the brain, or use --scenario search-retrieve-only if the daemon's ask sends no chunks in its retrieve event",
		}}
	case answered > 0 && deepest.found == 0:
		return []Warning{{
			Kind: "gold_never_found", Count: answered, IDs: []string{},
			Message: "no gold document was retrieved for any question: compare expected_paths with the paths under retrieved in the result file; without a corpus they must be the daemon's own",
		}}
	}
	return []Warning{}
}
