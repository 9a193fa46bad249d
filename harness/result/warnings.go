package result

// Warning is a reason to doubt the metrics of retrieval: something makes them trivial or
// meaningless.
type Warning struct {
	// Kind is a stable name.
	Kind string `json:"kind"`
	// Message says what is wrong and what to do. It may quote the dataset.
	Message string `json:"message"`
	// Count is the number of questions concerned, IDs has the first of them.
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// TopKCoversBrain is the Kind of the warning that recall cannot fail, because top-k is as large as
// the brain.
const TopKCoversBrain = "top_k_covers_brain"

// warningIDs is the number of questions that a warning names.
const warningIDs = 5

// AddID counts a question, and names it if it is among the first.
func (w *Warning) AddID(id string) {
	if w.Count++; w.Count <= warningIDs {
		w.IDs = append(w.IDs, id)
	}
}

// warnings returns the warnings that only the answers cause.
func (m *retrievalAggregate) warnings() []Warning {
	answered := m.all.n - m.errors
	deepest := m.all.pools[len(m.all.pools)-1]
	switch {
	case answered > 0 && deepest.documents == 0:
		return []Warning{{
			Kind: "nothing_retrieved", Count: answered, IDs: []string{},
			Message: "no answer reports what was retrieved, so that every metric is 0: " +
				"seed the brain, or use --scenario search-retrieve-only if the daemon's ask " +
				"sends no chunks in its retrieve event",
		}}
	case answered > 0 && deepest.found == 0:
		return []Warning{{
			Kind: "gold_never_found", Count: answered, IDs: []string{},
			Message: "no gold document was retrieved for any question: compare expected_paths " +
				"with the paths under retrieved in the result file; without a corpus they must be " +
				"the daemon's own",
		}}
	}
	return []Warning{}
}
