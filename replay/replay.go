// Package replay measures memories with published benchmarks. It draws a sample of a benchmark's
// questions, fills brains with their haystacks, asks the questions, judges the answers and accounts
// for the cost.
//
// Open checks everything that needs neither a daemon nor money. Session.Run then measures one or
// more arms with the same questions at the same time. An arm is an SDK's daemon or a baseline
// without a memory. Each arm has a journal and a result file, as a run of package harness has; one
// Store accounts for the money of all arms.
package replay

import (
	"encoding/json"
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

// Config configures a replay. Fields without a comment are required.
type Config struct {
	// Benchmark must stay open until the replay has ended.
	Benchmark *source.Benchmark
	Sample    sample.Config
	// Arms must have different names.
	Arms []Arm
	// Secrets are replaced in answers and grades.
	Secrets []redact.Secret

	// Ingest, Shared and Style apply to arms with a daemon. Shared puts all haystacks into one
	// brain.
	Ingest ingest.Mode
	Shared bool
	Style  actor.Style
	// TopK, Mode and Dialect apply to requests to daemons.
	TopK    int
	Mode    string
	Dialect result.Dialect
	// QuestionDate is set if daemons and readers receive the question's date.
	QuestionDate bool
	// ContextTokens limits the context of the full-context baseline, 0 for
	// actor.DefaultContextTokens.
	ContextTokens int

	Scorer scorer.Kind
	// External is the scorer if the user supplies one, else nil. Scorer is its kind.
	External *extern.Scorer
	// ExactCase says whether the exact scorer distinguishes upper and lower case, nil for other
	// scorers.
	ExactCase *bool
	// Reader writes the answers where the daemon does not. It may be nil if only retrieval is
	// scored.
	Reader *llm.Config
	// Judge is required for a scorer that asks a model. Prompts is nil if the scorer has its own.
	Judge   *llm.Config
	Prompts scorer.PromptSet
	// Panel holds the recipes of a panel of judges, the headline first, nil for one judge. With a
	// panel, Prompts is ignored.
	Panel []Recipe
	// MaxUnusable is how many consecutive verdicts of an arm may be unusable, 0 for no limit.
	MaxUnusable int
	// Options configure the judge's requests, and Patience how long to wait (see llm.Config).
	Options  llm.Options
	Patience time.Duration

	// Cap limits the total spending of all arms, nil for no limit. CapOptions are the options that
	// a resumed replay keeps of it, nil unless its command line has it.
	Cap        *llm.USD
	CapOptions json.RawMessage
	// Prices are as of PricesDate, YYYY-MM-DD, except for individual overrides.
	Prices     llm.Prices
	PricesDate string
	// Unmetered allows daemons to call paid models without being counted.
	Unmetered bool
	Cache     Cache

	// Concurrency is the number of concurrent questions per arm.
	Concurrency int
	// Timeout limits one question, from the search to the answer.
	Timeout time.Duration
	// Alone is how many questions each daemon is asked again by itself after all arms have
	// finished, 0 for none. Workers ignore it.
	Alone int
	// RetryErrors retries questions of a resumed replay as described at harness.Config.
	RetryErrors bool
	// Gate has the floors and allowances for judging each arm. Its other settings are ignored.
	Gate result.Settings
	// Cluster names the clusters of questions, as in dataset.Options.
	Cluster string
	Tool    result.ToolID
}

// Cache says where model replies and filled brains are kept for later replays.
type Cache struct {
	Mode llm.CacheMode
	Dir  string
	// MaxBytes limits the total size of the replies.
	MaxBytes int64
}

// style returns the arm's way of answering.
func (c *Config) style(a Arm) actor.Style {
	if a.hasDaemon() {
		return c.Style
	}
	return a.Baseline
}

// scenario returns the name in results for the arm's way of answering.
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

// Recipe is a recipe of a panel with its model, nil for Config.Judge.
type Recipe struct {
	judging.Recipe
	Model *llm.Config

	provider llm.Provider // of Model
}
