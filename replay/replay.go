// Package replay measures memories with published benchmarks. It draws a sample of a benchmark's
// questions, fills brains with their haystacks, asks, judges, and accounts for what that costs.
//
// Open checks everything that needs neither a daemon nor money. Session.Run then measures one or
// more arms, each an SDK's daemon or a baseline without a memory, with the same questions at the
// same time. Each arm has a journal and a result file as a run of package harness has; the money of
// all of them is in one Store.
package replay

import (
	"time"

	"evalctl/harness/extern"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/replay/sample"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Config says what to replay. Fields without a comment are required.
type Config struct {
	// Benchmark is open, and must be until the replay has ended.
	Benchmark *source.Benchmark
	Sample    sample.Config
	// Arms have different names.
	Arms []Arm
	// Secrets are replaced in answers and grades.
	Secrets []redact.Secret

	// Ingest, Shared and Style are those of arms with a daemon. Shared puts all haystacks into one
	// brain.
	Ingest ingest.Mode
	Shared bool
	Style  actor.Style
	// TopK, Mode and Dialect are those of requests to daemons.
	TopK    int
	Mode    string
	Dialect result.Dialect
	// QuestionDate is set if daemons and readers receive the date of a question.
	QuestionDate bool
	// ContextTokens limits what the baseline full-context gives to the reader, 0 means
	// actor.DefaultContextTokens.
	ContextTokens int

	Scorer scorer.Kind
	// External is the scorer if it is one of the user's own, nil for another one. Scorer is its kind.
	External *extern.Scorer
	// ExactCase says whether upper and lower case matter to the exact scorer, nil for another one.
	ExactCase *bool
	// Reader writes the answers where no daemon does. It may be nil for a scorer of retrieval.
	Reader *llm.Config
	// Judge is needed for a scorer that asks a model. Prompts are nil for one whose prompts are its
	// own.
	Judge   *llm.Config
	Prompts scorer.PromptSet
	// Panel are the recipes of a panel of judges, the headline first, nil for one judge. Prompts is
	// then not used.
	Panel []Recipe
	// MaxUnusable is how many verdicts of an arm in a row may be unusable, 0 for any number.
	MaxUnusable int
	// Options say how the judge is asked, and Patience how long (see llm.Config).
	Options  llm.Options
	Patience time.Duration

	// Cap is the limit on what all arms spend together, nil for none.
	Cap *llm.USD
	// Prices are those of PricesDate, YYYY-MM-DD, but for single ones.
	Prices     llm.Prices
	PricesDate string
	// Unmetered is set if daemons may call paid models that are not counted.
	Unmetered bool
	Cache     Cache

	// Concurrency is the number of concurrent questions of one arm.
	Concurrency int
	// Timeout limits one question, from the search to the answer.
	Timeout time.Duration
	// Alone is how many questions each daemon is asked once more by itself, after all arms have
	// finished, 0 for none. Workers do not.
	Alone int
	// RetryErrors is set if questions of a resumed replay are tried again as harness.Config says.
	RetryErrors bool
	// Gate has the floors and allowances that judge each arm. Its other settings are not used.
	Gate result.Settings
	// Cluster names the clusters of questions, as dataset.Options.Cluster does.
	Cluster string
	Tool    result.ToolID
}

// Cache says where replies of models, and brains that are filled, are kept for later replays.
type Cache struct {
	Mode llm.CacheMode
	Dir  string
	// MaxBytes is the largest size of the replies together.
	MaxBytes int64
}

// style returns how the arm answers.
func (c *Config) style(a Arm) actor.Style {
	if a.hasDaemon() {
		return c.Style
	}
	return a.Baseline
}

// scenario returns what results call the arm's way to answer.
func (c *Config) scenario(a Arm) result.Scenario {
	switch {
	case !a.hasDaemon():
		return result.Scenario(a.Baseline)
	case c.Style == actor.Full:
		return result.AskBasic
	case c.Reader == nil:
		return result.SearchOnly
	}
	return result.RetrieveOnly
}

// Recipe is a recipe of a panel with its model, which is nil for that of Config.Judge.
type Recipe struct {
	judging.Recipe
	Model *llm.Config

	provider llm.Provider // of Model
}
