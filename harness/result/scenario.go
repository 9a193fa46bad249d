package result

// Scenario is the endpoint that is evaluated and how it is asked (spec 4.4).
type Scenario string

// The scenarios of the specification.
const (
	AskBasic     Scenario = "ask-basic"
	AskAugmented Scenario = "ask-augmented"
	SearchOnly   Scenario = "search-retrieve-only"
)

// The scenarios of replays in which evalctl's own reader answers: from what the daemon's search
// finds, from the whole haystack, from the gold sessions only, and from nothing.
const (
	RetrieveOnly Scenario = "retrieve-only"
	FullContext  Scenario = "full-context"
	Oracle       Scenario = "oracle"
	NoMemory     Scenario = "no-memory"
)

// ImportedAnswers is the scenario of answers that another harness stored. How they were asked for is not
// known.
const ImportedAnswers Scenario = "imported"

// Reads reports whether a reader model writes the answers of the scenario. In the others an answer
// is what was retrieved.
func (s Scenario) Reads() bool { return s != SearchOnly }

// Baseline reports whether the scenario asks no memory.
func (s Scenario) Baseline() bool { return s == FullContext || s == Oracle || s == NoMemory }

// Dialect is how the keys of requests are spelled.
type Dialect string

// Auto sends every key in both spellings and under its known aliases, so that any daemon can read
// the request. Snake and Camel send one spelling.
const (
	Auto  Dialect = "auto"
	Snake Dialect = "snake"
	Camel Dialect = "camel"
)
