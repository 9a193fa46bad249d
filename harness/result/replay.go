package result

import (
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// ReplaySchemaVersion is the version of Replay.
const ReplaySchemaVersion = 1

// JudgeVerdict is the verdict on one question of a replay. Questions whose right answer is that the
// memory does not say are judged by whether the answer abstains.
type JudgeVerdict string

// The verdicts of questions.
const (
	Correct          JudgeVerdict = "correct"
	Incorrect        JudgeVerdict = "incorrect"
	AbstainCorrect   JudgeVerdict = "abstain_correct"
	AbstainIncorrect JudgeVerdict = "abstain_incorrect"
	VerdictUnscored  JudgeVerdict = "unscored"
	VerdictError     JudgeVerdict = "error"
)

// Cause is what lost a question of a replay.
type Cause string

// The causes. The first stage that failed is blamed: an answer that declines because gold was not
// retrieved was lost by the retrieval.
const (
	CauseDaemon        Cause = "daemon_error"   // the daemon returned no usable answer
	CauseReaderError   Cause = "reader_error"   // the model that answers failed
	CauseUnscored      Cause = "unscored"       // the judge returned no usable verdict
	CauseJudgeSuspect  Cause = "judge_suspect"  // the answer contains the reference, and is judged wrong
	CauseRankBurial    Cause = "rank_burial"    // gold is missing from the top-k and was found further down
	CauseMissRetrieval Cause = "miss_retrieval" // gold is missing from the top-k and was not found further down
	CauseAbstain       Cause = "abstain_wrong"  // it declined with all gold retrieved, or answered where it should decline
	CauseUnknown       Cause = "unknown"        // it is not known what is gold
	CauseReader        Cause = "reader"         // all gold was retrieved
)

// ModelUse is what one question used of a model. USD is what was charged, SavedUSD what a cached
// reply would have cost.
type ModelUse struct {
	Model        string         `json:"model"`
	Attempts     int            `json:"attempts"`
	Usage        protocol.Usage `json:"usage"`
	Estimated    bool           `json:"usage_estimated,omitempty"`
	USD          llm.USD        `json:"usd"`
	Cached       bool           `json:"cached,omitempty"`
	SavedUSD     llm.USD        `json:"saved_usd,omitempty"`
	FinishReason string         `json:"finish_reason,omitempty"`
	// LeftOut is the number of notes that were left out because not more text is given to a model.
	LeftOut int `json:"notes_left_out,omitempty"`
	// Seen are the paths of the sessions that a baseline gave to the model, in their order.
	Seen []string `json:"sessions_seen,omitempty"`
}

// Original is the verdict on a question by the gold of the dataset, where errata correct it.
type Original struct {
	Reference string       `json:"reference_answer"`
	Verdict   JudgeVerdict `json:"judge_verdict"`
	Score     *float64     `json:"score"`
	Passed    bool         `json:"passed"`
	Reason    string       `json:"reason,omitempty"`
	USD       llm.USD      `json:"judge_usd,omitempty"`
}

// CostAccounting is what a replay cost, resumed parts and calls without a result included. The
// parts add up to TotalUSD.
type CostAccounting struct {
	IngestUSD llm.USD `json:"ingest_usd"`
	ActorUSD  llm.USD `json:"actor_usd"`
	JudgeUSD  llm.USD `json:"judge_usd"`
	EmbedUSD  llm.USD `json:"embed_usd"`
	TotalUSD  llm.USD `json:"total_usd"`
	// CachedSavingsUSD is what all replies from the cache would have cost.
	CachedSavingsUSD llm.USD `json:"cached_savings_usd"`
	// List is what the arm would have cost alone, nil in a file of an evalctl that did not record it.
	List *ListCost `json:"list_cost,omitempty"`
	// CapUSD is the cap, which all arms of a replay share, nil for none.
	CapUSD *llm.USD `json:"cap_usd"`
	// LostUSD is the part of TotalUSD that is worst cases, of calls whose tokens the provider did not
	// count, such as those whose reply was lost: they may have been charged.
	LostUSD llm.USD `json:"lost_usd"`
	// SharedUSD is what all arms of a replay share, such as the check of the judge. It is part of
	// TotalUSD only if there is one arm.
	SharedUSD llm.USD `json:"shared_usd"`
	// Tokens are those of each model that was charged, by its name.
	Tokens map[string]ModelTokens `json:"tokens_by_model"`
	// CacheHits and CacheMisses count the requests that looked for a cached reply.
	CacheHits   int `json:"cache_hits"`
	CacheMisses int `json:"cache_misses"`
	// Prices are those by which the models were charged.
	Prices PriceTable `json:"prices"`
	// Unpriced are models without a known price, whose cost is missing.
	Unpriced []string `json:"unpriced_models"`
	// Unmetered is set if the daemon may have called models by itself, at a cost that is missing.
	Unmetered bool `json:"unmetered_daemon"`
	// PerCorrectUSD is the list cost, without List TotalUSD, divided by the number of correct
	// answers, with its interval from that of the pass rate. Both are nil without correct answers
	// and if the list cost is not known.
	PerCorrectUSD      *llm.USD  `json:"usd_per_correct"`
	PerCorrectInterval *Interval `json:"usd_per_correct_interval"`
}

// PriceTable has the prices of models that were charged, by their names.
type PriceTable struct {
	// Date is the day of the table of prices. Single prices may have been given for the replay.
	Date   string                `json:"date"`
	Models map[string]ModelPrice `json:"models"`
}

// ModelPrice is what a model costs, in dollars per million tokens.
type ModelPrice struct {
	Input  llm.USD `json:"input"`
	Output llm.USD `json:"output"`
}

// ModelTokens are the tokens of one model.
type ModelTokens struct {
	Requests     int   `json:"requests"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// Estimated is the number of requests whose tokens the provider did not count.
	Estimated int `json:"usage_estimated"`
	// Implausible is the number of requests whose count of tokens cannot be.
	Implausible int     `json:"usage_implausible,omitempty"`
	USD         llm.USD `json:"usd"`
}

// Replay is what the result file of a replay has besides that of a run: everything else that
// affected the outcome, and the figures of a benchmark.
type Replay struct {
	SchemaVersion int `json:"schema_version"`
	// Arm is what was measured: an SDK or a baseline.
	Arm    string     `json:"arm"`
	Load   LoadReport `json:"load"`
	Sample Sample     `json:"sample"`
	Ingest *Ingest    `json:"ingest"` // nil for a baseline
	Actor  Actor      `json:"actor"`
	Errata *ErrataUse `json:"errata"` // nil without errata
	// Trivial says which questions can be passed with little or no retrieval, as far as the benchmark
	// shows. See Result.Trivial.
	Trivial []Warning `json:"trivial,omitempty"`
	// Context is nil unless the arm is the baseline full-context.
	Context *ContextUse  `json:"context,omitempty"`
	Cache   CacheSetting `json:"cache"`
	// Controls is nil for a scorer that needs no check of its verdicts.
	Controls *Controls `json:"controls"`
	// Strata are the figures by question type, in order of the name.
	Strata []Stratum `json:"strata"`
	// Weighted is the pass rate of the whole benchmark as estimated from the strata (statistics.md
	// B.10), nil if a stratum has no questions. Macro is the mean of the strata's pass rates.
	Weighted *Estimate            `json:"weighted_pass_rate"`
	Macro    *float64             `json:"macro_pass_rate"`
	Verdicts map[JudgeVerdict]int `json:"judge_verdicts"`
	Losses   map[Cause]int        `json:"losses"`
	// FirstAttempt is how many questions were answered by their first attempt, of Planned.
	FirstAttempt int `json:"answered_at_first_attempt"`
	// FirstAttemptPassed is how many of those passed.
	FirstAttemptPassed int `json:"passed_at_first_attempt"`
	// ModelRequests is nil unless the daemon was started and asks for its models through evalctl. It
	// is also nil if workers started the daemons.
	ModelRequests *ModelRequests `json:"model_requests,omitempty"`
	// Restarts is how often the daemon was seen to have been restarted during the run.
	Restarts int `json:"daemon_restarts"`
	// Daemon is nil for a baseline, and in results of an older evalctl.
	Daemon *DaemonSeen `json:"daemon_seen,omitempty"`
	// Together is nil if the arm was the only one or workers asked its questions, and in older files.
	Together *Together `json:"together,omitempty"`
	// Alone is nil unless it was asked for.
	Alone *Alone `json:"latency_alone,omitempty"`
}

// Trivial returns Replay.Trivial, and for the baseline no-memory the questions that it passed.
func (r *Result) Trivial() []Warning {
	if r.Replay == nil {
		return nil
	}
	out := slices.Clone(r.Replay.Trivial)
	if r.Identity.Scenario == NoMemory && r.Passed > 0 {
		out = append(out, Warning{
			Kind: PassedWithoutMemory, Count: r.Passed, IDs: []string{},
			Message: fmt.Sprintf("%d of %s were passed without a memory, %d of them because declining is right",
				r.Passed, figure.Count(r.Total, "question"), r.Replay.Verdicts[AbstainCorrect]),
		})
	}
	return out
}

// DaemonSeen is what was seen of a daemon while it was measured. What is empty was not recorded.
type DaemonSeen struct {
	// Dialects are the spellings of keys in the daemon's replies to searches and questions, Camel
	// before Snake.
	Dialects []Dialect `json:"dialects,omitempty"`
	// PeakRSSBytes is the sum of the peaks of resident memory of a started daemon's processes that
	// were alive at the end. Only Linux has it.
	PeakRSSBytes int64 `json:"peak_rss_bytes,omitempty"`
}

// LoadReport says what a benchmark file contains and what was unusual about it.
type LoadReport struct {
	Format    string `json:"format"`
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Haystacks int    `json:"haystacks"`
	Questions int    `json:"questions"`
	Sessions  int    `json:"sessions"`
	Turns     int    `json:"turns"`
	// Traps are the irregularities that were handled, in order of Kind.
	Traps []Trap `json:"traps"`
}

// Trap is one kind of irregularity of a benchmark file.
type Trap struct {
	Kind string `json:"kind"`
	// Handling says what was done, for people.
	Handling string   `json:"handling"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // the first of them: ids with what is irregular
}

// Sample says which questions of a benchmark were asked.
type Sample struct {
	Size          int           `json:"size"`
	Population    int           `json:"population"`
	Seed          uint64        `json:"seed"`
	MinPerStratum int           `json:"min_per_stratum"`
	Excluded      int           `json:"excluded"`
	Listed        bool          `json:"listed"` // the ids were given
	Signature     string        `json:"signature"`
	Strata        []StratumDraw `json:"strata"`
}

// StratumDraw is how many questions of a stratum there are and how many were drawn.
type StratumDraw struct {
	Name       string `json:"name"`
	Population int    `json:"population"`
	Sampled    int    `json:"sampled"`
}

// Ingest says how the brains were filled.
type Ingest struct {
	Mode   string `json:"mode"`
	Shared bool   `json:"shared_brain"`
	// Brains were asked, Reused of them were filled by an earlier replay.
	Brains    int     `json:"brains"`
	Reused    int     `json:"reused"`
	Sessions  int     `json:"sessions"`
	Messages  int     `json:"messages"`
	Documents int     `json:"documents"`
	Seconds   float64 `json:"seconds"`
	// Signature is that of all brains together: the same signature means the same contents.
	Signature string `json:"signature"`
}

// Actor says what wrote the answers.
type Actor struct {
	// Style is "retrieve-only", "full", or the name of a baseline.
	Style        string `json:"style"`
	Provider     string `json:"provider,omitempty"`
	BaseURL      string `json:"base_url,omitempty"`
	Model        string `json:"model,omitempty"`
	Prompt       string `json:"prompt_version,omitempty"`
	PromptSHA256 string `json:"prompt_sha256,omitempty"`
	QuestionDate bool   `json:"question_date"`
	// ContextTokens limits what full-context gives to the model, 0 for other styles and in older files.
	ContextTokens int `json:"context_tokens,omitempty"`
}

// ContextUse is how much of its haystacks the baseline full-context gave to the model.
type ContextUse struct {
	Tokens int `json:"tokens"`
	// Sessions are those of all haystacks, once for each question, LeftOut those that did not fit, and
	// Cut the questions that lack some.
	Sessions int `json:"sessions"`
	LeftOut  int `json:"left_out"`
	Cut      int `json:"questions_cut"`
}

// Name is what the model was given: "the whole context", or "the last 128k tokens".
func (c *ContextUse) Name() string {
	if c == nil || c.LeftOut == 0 {
		return "the whole context"
	}
	return fmt.Sprintf("the last %s tokens", thousands(c.Tokens))
}

// Text says what was left out.
func (c *ContextUse) Text() string {
	if c.LeftOut == 0 {
		return fmt.Sprintf("the whole context: all %s fit", figure.Count(c.Sessions, "session"))
	}
	return fmt.Sprintf("%s: %d of %s left out, of %s", c.Name(), c.LeftOut, figure.Count(c.Sessions, "session"), figure.Count(c.Cut, "question"))
}

func thousands(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// ErrataUse says how errata changed the gold, and the score without them.
type ErrataUse struct {
	Path      string   `json:"path"`
	SHA256    string   `json:"sha256"`
	Excluded  int      `json:"excluded"`
	Corrected int      `json:"corrected"`
	IDs       []string `json:"ids"`
	// Original are the counts and the pass rate by the dataset's own gold, the excluded questions
	// included.
	Original         Counts    `json:"original"`
	OriginalPassRate *float64  `json:"original_pass_rate"`
	OriginalInterval *Interval `json:"original_pass_rate_interval"`
}

// CacheSetting says how replies of models were cached.
type CacheSetting struct {
	Mode string `json:"mode"`
}

// Stratum has the figures of the questions of one type.
type Stratum struct {
	Name     string    `json:"name"`
	Counts   Counts    `json:"counts"`
	PassRate *float64  `json:"pass_rate"`
	Interval *Interval `json:"pass_rate_interval"`
	// Retrieval has the means over the questions with gold: any@k, all@k, recall@k and ndcg@k.
	WithGold  int       `json:"with_gold"`
	Retrieval Metrics   `json:"retrieval,omitempty"`
	Latency   Quantiles `json:"latency"`
}

// Estimate is a mean with its standard error and interval. SE is nil if a stratum has one question
// of several, which has no variance.
type Estimate struct {
	Mean     float64  `json:"mean"`
	SE       *float64 `json:"se"`
	Interval Interval `json:"interval"`
}
