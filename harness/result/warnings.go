package result

import "fmt"

// Warning is a reason to doubt the metrics of retrieval: they may be trivial or meaningless.
type Warning struct {
	// Kind is a permanent name.
	Kind string `json:"kind"`
	// Message describes the problem and the remedy. It may quote the dataset.
	Message string `json:"message"`
	// Count is the number of questions concerned. IDs has the first of them.
	Count int      `json:"count"`
	IDs   []string `json:"ids"`
}

// TopKCoversBrain is the Kind of the warning that recall cannot fail, because top-k is as large as
// the brain.
const TopKCoversBrain = "top_k_covers_brain"

// CoversHaystacks makes w the warning that top-k covers the haystacks of the questions that w
// counts, out of all.
func CoversHaystacks(w Warning, topK int, all string) Warning {
	w.Kind = TopKCoversBrain
	w.Message = fmt.Sprintf("top-k %d is not smaller than the haystack of %d of %s: recall cannot fail there; "+
		"lower --top-k, or use larger haystacks", topK, w.Count, all)
	return w
}

// The Kinds of the other warnings that a question of a replay is trivial: its haystack is all gold,
// its gold answer is in the haystack, and it was passed without a memory.
const (
	AllGold             = "all_gold"
	KeyInMemory         = "key_in_memory"
	passedWithoutMemory = "passed_without_memory"
)

// warningIDs limits the questions named by a warning.
const warningIDs = 5

// AddID counts a question, and names it if it is among the first.
func (w *Warning) AddID(id string) {
	if w.Count++; w.Count <= warningIDs {
		w.IDs = append(w.IDs, id)
	}
}
