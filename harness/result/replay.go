package result

import (
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// JudgeVerdict is the verdict on one question of a replay. If the right answer is that the memory
// does not know, the verdict is whether the answer abstains.
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

// Cause is the cause of a lost question of a replay.
type Cause string

// The causes. The first failed stage is blamed: an answer that declines because gold was not
// retrieved was lost by the retrieval.
const (
	CauseDaemon        Cause = "daemon_error"   // the daemon returned no usable answer
	CauseReaderError   Cause = "reader_error"   // the model that answers failed
	CauseUnscored      Cause = "unscored"       // the judge returned no usable verdict
	CauseJudgeSuspect  Cause = "judge_suspect"  // the answer contains the reference, and is judged wrong
	CauseRankBurial    Cause = "rank_burial"    // gold is missing from the top-k and was found further down
	CauseMissRetrieval Cause = "miss_retrieval" // gold is missing from the top-k and was not found further down
	CauseAbstain       Cause = "abstain_wrong"  // it declined with all gold retrieved, or answered where it should decline
	CauseUnknown       Cause = "unknown"        // the gold is unknown
	CauseReader        Cause = "reader"         // all gold was retrieved
)

// ModelUse is the use of a model by one question. USD is the charge, SavedUSD the cost of a cached
// reply without the cache.
type ModelUse struct {
	Model        string         `json:"model"`
	Attempts     int            `json:"attempts"`
	Usage        protocol.Usage `json:"usage"`
	Estimated    bool           `json:"usage_estimated,omitempty"`
	USD          llm.USD        `json:"usd"`
	Cached       bool           `json:"cached,omitempty"`
	SavedUSD     llm.USD        `json:"saved_usd,omitempty"`
	FinishReason string         `json:"finish_reason,omitempty"`
	// LeftOut is the number of notes that exceeded the limit for the model.
	LeftOut int `json:"notes_left_out,omitempty"`
	// Seen are the paths of the sessions that a baseline gave to the model, in order.
	Seen []string `json:"sessions_seen,omitempty"`
}

// Original is the verdict by the dataset's gold on a question that errata correct.
type Original struct {
	Reference string       `json:"reference_answer"`
	Verdict   JudgeVerdict `json:"judge_verdict"`
	Score     *float64     `json:"score"`
	Passed    bool         `json:"passed"`
	Reason    string       `json:"reason,omitempty"`
	USD       llm.USD      `json:"judge_usd,omitempty"`
}

// CostAccounting is the cost of a replay, including resumed parts and calls without a result. The
// parts add up to TotalUSD.
type CostAccounting struct {
	IngestUSD llm.USD `json:"ingest_usd"`
	ActorUSD  llm.USD `json:"actor_usd"`
	JudgeUSD  llm.USD `json:"judge_usd"`
	EmbedUSD  llm.USD `json:"embed_usd"`
	TotalUSD  llm.USD `json:"total_usd"`
	// CachedSavingsUSD is the cost of all cached replies without the cache.
	CachedSavingsUSD llm.USD `json:"cached_savings_usd"`
	// List is the cost of the arm on its own, nil in files of older versions.
	List *ListCost `json:"list_cost,omitempty"`
	// CapUSD is the cap shared by all arms of a replay, nil for none.
	CapUSD *llm.USD `json:"cap_usd"`
	// LostUSD is the worst-case part of TotalUSD: calls whose tokens the provider did not count,
	// for example because the reply was lost. They may have been charged.
	LostUSD llm.USD `json:"lost_usd"`
	// SharedUSD is the cost shared by all arms of a replay, such as the check of the judge.
	// TotalUSD includes it only if there is one arm.
	SharedUSD llm.USD `json:"shared_usd"`
	// Tokens are the tokens of each charged model, by its name.
	Tokens map[string]ModelTokens `json:"tokens_by_model"`
	// CacheHits and CacheMisses count the cache lookups.
	CacheHits   int `json:"cache_hits"`
	CacheMisses int `json:"cache_misses"`
	// Prices are the prices by which the models were charged.
	Prices PriceTable `json:"prices"`
	// Unpriced are models with an unknown price, whose cost is missing.
	Unpriced []string `json:"unpriced_models"`
	// Unmetered is set if the daemon may have called models itself. Their cost is missing.
	Unmetered bool `json:"unmetered_daemon"`
	// PerCorrectUSD is the list cost (TotalUSD if List is nil) divided by the number of correct
	// answers. Its interval follows from Result.Believed, and is nil if the pass rate may be 0.
	// Both are nil without correct answers and if the list cost is unknown.
	PerCorrectUSD      *llm.USD  `json:"usd_per_correct"`
	PerCorrectInterval *Interval `json:"usd_per_correct_interval"`
}

// PriceTable has the prices of charged models by name.
type PriceTable struct {
	// Date is the day of the price table. The user may have overridden single prices.
	Date   string                `json:"date"`
	Models map[string]ModelPrice `json:"models"`
}

// ModelPrice is the price of a model, in dollars per million tokens.
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
	// Implausible is the number of requests with an impossible token count.
	Implausible int     `json:"usage_implausible,omitempty"`
	USD         llm.USD `json:"usd"`
}

// Replay is the additional part of a replay's result file: everything else that affected the
// outcome, and the figures of a benchmark.
type Replay struct {
	SchemaVersion int `json:"schema_version"`
	// Arm is the measured SDK or baseline.
	Arm    string     `json:"arm"`
	Load   LoadReport `json:"load"`
	Sample Sample     `json:"sample"`
	Ingest *Ingest    `json:"ingest"` // nil for a baseline
	Actor  Actor      `json:"actor"`
	Errata *ErrataUse `json:"errata"` // nil without errata
	// Trivial lists questions that can be passed with little or no retrieval, as far as the
	// benchmark shows. See Result.Trivial.
	Trivial []Warning `json:"trivial,omitempty"`
	// Context is nil unless the arm is the baseline full-context.
	Context *ContextUse  `json:"context,omitempty"`
	Cache   CacheSetting `json:"cache"`
	// Controls is nil for a scorer whose verdicts need no check.
	Controls *Controls `json:"controls"`
	// Strata are the figures by question type, ordered by name.
	Strata []Stratum `json:"strata"`
	// Weighted is the pass rate of the whole benchmark, estimated from the strata (statistics.md
	// B.10), nil if a stratum has no questions. Macro is the mean of the strata's pass rates. To
	// show Weighted, call Estimate.
	Weighted *Estimate            `json:"weighted_pass_rate"`
	Macro    *float64             `json:"macro_pass_rate"`
	Verdicts map[JudgeVerdict]int `json:"judge_verdicts"`
	Losses   map[Cause]int        `json:"losses"`
	// FirstAttempt is how many of Planned questions were answered by their first attempt.
	FirstAttempt int `json:"answered_at_first_attempt"`
	// FirstAttemptPassed is how many of these passed.
	FirstAttemptPassed int `json:"passed_at_first_attempt"`
	// ModelRequests is nil unless the daemon was started and calls its models through evalctl. It
	// is also nil if workers started the daemons.
	ModelRequests *ModelRequests `json:"model_requests,omitempty"`
	// Restarts is the number of observed restarts of the daemon during the run.
	Restarts int `json:"daemon_restarts"`
	// Daemon is nil for a baseline, and in results of older versions.
	Daemon *DaemonSeen `json:"daemon_seen,omitempty"`
	// Together is nil if the arm was the only one or workers asked its questions, and in older
	// files.
	Together *Together `json:"together,omitempty"`
	// Alone is nil unless it was requested.
	Alone *Alone `json:"latency_alone,omitempty"`
}

// Estimate returns Weighted, but nil for listed questions, which have one in older files.
func (r *Replay) Estimate() *Estimate {
	if !r.Sample.Represents() {
		return nil
	}
	return r.Weighted
}

// Trivial returns Replay.Trivial, and for the baseline no-memory the questions that it passed.
func (r *Result) Trivial() []Warning {
	if r.Replay == nil {
		return nil
	}
	out := slices.Clone(r.Replay.Trivial)
	if r.Identity.Scenario == NoMemory && r.Passed > 0 {
		out = append(out, Warning{
			Kind: passedWithoutMemory, Count: r.Passed, IDs: []string{},
			Message: fmt.Sprintf("%d of %s were passed without a memory, %d of them because declining is right",
				r.Passed, figure.Count(r.Total, "question"), r.Replay.Verdicts[AbstainCorrect]),
		})
	}
	return out
}

// DaemonSeen has observations of a daemon during the measurement. Empty fields were not recorded.
type DaemonSeen struct {
	// Dialects are the spellings of keys in the daemon's replies to searches and questions, Camel
	// before Snake.
	Dialects []Dialect `json:"dialects,omitempty"`
	// PeakRSSBytes is the sum of the peak resident memory of a started daemon's processes that were
	// alive at the end. It is set on Linux only.
	PeakRSSBytes int64 `json:"peak_rss_bytes,omitempty"`
}

// LoadReport describes the contents of a benchmark file and its irregularities.
type LoadReport struct {
	Format    string `json:"format"`
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Haystacks int    `json:"haystacks"`
	Questions int    `json:"questions"`
	Sessions  int    `json:"sessions"`
	Turns     int    `json:"turns"`
	// Traps are the irregularities that were handled, ordered by Kind.
	Traps []Trap `json:"traps"`
}

// Trap is one kind of irregularity of a benchmark file.
type Trap struct {
	Kind string `json:"kind"`
	// Handling describes what was done.
	Handling string   `json:"handling"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"` // the first ones: ids with the irregularity
}

// Sample is the sample of a benchmark's questions.
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

// Represents reports whether the sample says something about the whole benchmark. Listed
// questions do not: somebody chose them, such as all that failed.
func (s *Sample) Represents() bool { return !s.Listed || s.Size >= s.Population }

// StratumDraw is the size of a stratum and how many of its questions were drawn.
type StratumDraw struct {
	Name       string `json:"name"`
	Population int    `json:"population"`
	Sampled    int    `json:"sampled"`
}

// Ingest describes how the brains were filled.
type Ingest struct {
	Mode   string `json:"mode"`
	Shared bool   `json:"shared_brain"`
	// Brains is the number of brains, Reused how many of them an earlier replay filled.
	Brains    int     `json:"brains"`
	Reused    int     `json:"reused"`
	Sessions  int     `json:"sessions"`
	Messages  int     `json:"messages"`
	Documents int     `json:"documents"`
	Seconds   float64 `json:"seconds"`
	// Signature is the signature of all brains together: equal signatures mean equal contents.
	Signature string `json:"signature"`
}

// Actor describes what wrote the answers.
type Actor struct {
	// Style is "retrieve-only", "full", or the name of a baseline.
	Style        string `json:"style"`
	Provider     string `json:"provider,omitempty"`
	BaseURL      string `json:"base_url,omitempty"`
	Model        string `json:"model,omitempty"`
	Prompt       string `json:"prompt_version,omitempty"`
	PromptSHA256 string `json:"prompt_sha256,omitempty"`
	QuestionDate bool   `json:"question_date"`
	// ContextTokens limits the notes of full-context, 0 for other styles and in older files.
	ContextTokens int `json:"context_tokens,omitempty"`
}

// ContextUse is the part of its haystacks that the baseline full-context gave to the model.
type ContextUse struct {
	Tokens int `json:"tokens"`
	// Sessions counts the sessions of all haystacks, once for each question. LeftOut counts the
	// sessions that did not fit, and Cut the questions that lack some.
	Sessions int `json:"sessions"`
	LeftOut  int `json:"left_out"`
	Cut      int `json:"questions_cut"`
}

// ErrataUse describes the changes of the gold by errata, and the score without them.
type ErrataUse struct {
	Path      string   `json:"path"`
	SHA256    string   `json:"sha256"`
	Excluded  int      `json:"excluded"`
	Corrected int      `json:"corrected"`
	IDs       []string `json:"ids"`
	// Original are the counts and the pass rate by the dataset's own gold, including the excluded
	// questions.
	Original         Counts    `json:"original"`
	OriginalPassRate *float64  `json:"original_pass_rate"`
	OriginalInterval *Interval `json:"original_pass_rate_interval"`
}

// CacheSetting describes the caching of model replies.
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

// Estimate is a mean with its standard error and interval. SE is nil if only one of several
// questions of a stratum was asked, because its variance is unknown.
type Estimate struct {
	Mean     float64  `json:"mean"`
	SE       *float64 `json:"se"`
	Interval Interval `json:"interval"`
}
