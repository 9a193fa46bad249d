package result

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

// The Kinds of the other warnings that a question of a replay is trivial: its haystack is all gold,
// its gold answer is in the haystack, and it was passed without a memory.
const (
	AllGold             = "all_gold"
	KeyInMemory         = "key_in_memory"
	PassedWithoutMemory = "passed_without_memory"
)

// The Kinds of the warnings caused only by the answers: no document was retrieved at all, or no
// gold document.
const (
	NothingRetrieved = "nothing_retrieved"
	GoldNeverFound   = "gold_never_found"
	NoTexts          = "no_texts"
)

// The Kinds of the warnings about a mapped service, see Mapped: keywords were searched for instead
// of questions, gold was recognized by its text, and something cannot be measured.
const (
	KeywordQueries     = "keyword_queries"
	MatchedByText      = "matched_by_text"
	RanksNotMeasurable = "not_measurable"
)

// MemoryFinding is the Kind of a warning with one of MappedService.Findings.
const MemoryFinding = "memory_finding"

// warningIDs limits the questions named by a warning.
const warningIDs = 5

// AddID counts a question, and names it if it is among the first.
func (w *Warning) AddID(id string) {
	if w.Count++; w.Count <= warningIDs {
		w.IDs = append(w.IDs, id)
	}
}
