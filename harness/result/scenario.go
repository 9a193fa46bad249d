package result

// Scenario is what is driven (spec 4.4).
type Scenario string

// The scenarios of the specification.
const (
	AskBasic     Scenario = "ask-basic"
	AskAugmented Scenario = "ask-augmented"
	SearchOnly   Scenario = "search-retrieve-only"
)

// Dialect is how request keys are spelled.
type Dialect string

// Auto sends every key in both spellings and the known aliases, so that one
// body is understood by every daemon; Snake and Camel send one spelling.
const (
	Auto  Dialect = "auto"
	Snake Dialect = "snake"
	Camel Dialect = "camel"
)
