package result

import "slices"

// Scenario is the evaluated endpoint and how it is asked (spec 4.4).
type Scenario string

// The scenarios of the specification.
const (
	AskBasic     Scenario = "ask-basic"
	AskAugmented Scenario = "ask-augmented"
	SearchOnly   Scenario = "search-retrieve-only"
)

// The scenarios of replays in which evalctl's own reader answers: from the results of the daemon's
// search, from nothing, from random sessions, from the whole haystack, and from the gold sessions
// only.
const (
	RetrieveOnly  Scenario = "retrieve-only"
	NoMemory      Scenario = "no-memory"
	RandomSession Scenario = "random-session"
	FullContext   Scenario = "full-context"
	Oracle        Scenario = "oracle"
)

// Baselines are the scenarios without a memory, ordered by how much the reader gets.
var Baselines = []Scenario{NoMemory, RandomSession, FullContext, Oracle}

// ImportedAnswers is the scenario of answers stored by another harness. How they were produced is
// unknown.
const ImportedAnswers Scenario = "imported"

// ScoresEvidence reports whether retrieval is scored by evidence for questions that have it. The
// passages of an answer over the protocol are previews of at most 512 characters (spec 2,
// RetrievedChunk), so they are scored by documents. mapped is set for a service that does not speak
// the protocol.
func (s Scenario) ScoresEvidence(mapped bool) bool {
	return mapped || s != AskBasic && s != AskAugmented
}

// Reads reports whether a reader model writes the answers of the scenario. Otherwise an answer
// consists of the retrieved passages.
func (s Scenario) Reads() bool { return s != SearchOnly }

// Baseline reports whether the scenario uses no memory.
func (s Scenario) Baseline() bool { return slices.Contains(Baselines, s) }

// Dialect is the spelling of the keys of requests.
type Dialect string

// Auto sends every key in both spellings and under its known aliases, so that any daemon can read
// the request. Snake and Camel send one spelling.
const (
	Auto  Dialect = "auto"
	Snake Dialect = "snake"
	Camel Dialect = "camel"
)
