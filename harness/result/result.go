package result

import "time"

// Stop is why a run ended before its last question, empty if it did not.
type Stop string

// The reasons to stop early.
const (
	StopBudget      Stop = "budget_exceeded"
	StopInterrupted Stop = "interrupted"
	StopDaemon      Stop = "daemon_died"
	StopNoWorkers   Stop = "no_workers" // no worker took the questions from the queue
	StopScorer      Stop = "scorer_failed"
	StopMode        Stop = "mode"
	StopControls    Stop = "controls"
	StopMaxFailures Stop = "max_failures"      // so many questions did not pass that the rest is not asked
	StopUnusable    Stop = "unusable_verdicts" // so many in a row that the judge is not asked further
	StopSystematic  Stop = "systematic"        // the same failure ended many questions in a row
	StopFailed      Stop = "failed"
)

// Result is a result file without its questions: first the keys of the specification, then
// everything that affected the outcome. Rates and means over nothing are null.
type Result struct {
	SDK        string   `json:"sdk"`
	ScorerName string   `json:"scorer"`
	Total      int      `json:"total"`
	Passed     int      `json:"passed"`
	PassRate   *float64 `json:"pass_rate"`
	MeanScore  *float64 `json:"mean_score"`
	// MeanScoreInterval is nil for fewer than two scores and if all are the same. It is also nil if
	// the questions have clusters or were asked several times, because it treats scores as
	// independent.
	MeanScoreInterval *Interval `json:"mean_score_interval"`
	StartedAt         time.Time `json:"started_at"`
	FinishedAt        time.Time `json:"finished_at"`
	Brain             string    `json:"brain"`
	// Brains are the brains in use, by name.
	Brains []BrainInfo `json:"brains,omitempty"`

	Stopped Stop `json:"stopped"`
	// Resumed counts the questions from the journal.
	Resumed  int       `json:"resumed"`
	Planned  int       `json:"planned"`
	Counts   Counts    `json:"counts"`
	Interval *Interval `json:"pass_rate_interval"`
	// FirstTryRate is nil unless questions were tried again after a failure.
	FirstTryRate *FirstTryRate `json:"first_try_rate,omitempty"`
	// Gate is the verdict by the floors and allowances of Settings. It is null in the cells of a
	// sweep, which have no floor.
	Gate *Gate                  `json:"gate"`
	Tags map[string]*TagFigures `json:"tags"`
	// Checks has the outcomes of the questions with checks, by Check.Label. It is nil unless the
	// scorer applies checks. A question passed if all its checks with the label hold.
	Checks map[string]*TagFigures `json:"checks,omitempty"`
	// Panel is nil unless several recipes judged.
	Panel *Panel `json:"judge_panel,omitempty"`
	// Votes is nil unless imported answers were judged several times.
	Votes *VoteFigures `json:"votes,omitempty"`
	// Clustered is nil unless the questions have clusters or were asked several times.
	Clustered *ClusteredRate `json:"clustered,omitempty"`
	// Repeats is nil if each question was asked once.
	Repeats *Repeats `json:"repeats,omitempty"`

	Identity       Identity       `json:"identity"`
	Settings       Settings       `json:"settings"`
	EffectiveModes map[string]int `json:"effective_modes"`
	// ModesUnknown is the number of answers without a reported mode.
	ModesUnknown int `json:"modes_unknown,omitempty"`
	// Fusions counts the answers by their fusion (see Record.Fusion).
	Fusions       map[string]int `json:"fusions,omitempty"`
	ReaderModels  map[string]int `json:"reader_models"`
	ReaderPrompts map[string]int `json:"reader_prompts"`
	// Latency and FirstDelta are about the answering attempts. Felt is Latency including waits (see
	// Record.Felt), over the same questions; it is nil if no question had to wait.
	Latency    Quantiles  `json:"latency"`
	Felt       *Quantiles `json:"felt,omitempty"`
	FirstDelta Quantiles  `json:"first_delta"`
	// Cached is the number of answers from evalctl's cache, which are in none of these times.
	// Older files lack it, and count the times of all answers.
	Cached     int `json:"answers_cached,omitempty"`
	Retried    int `json:"retried"`
	GoldMissed int `json:"gold_missed"`
	// Grounded is the number of passed questions with a quote that is in the cited chunk.
	// GroundedIDsOnly is the number of other passed questions that cite a retrieved chunk with a
	// quote that cannot be checked.
	Grounded        int `json:"grounded"`
	GroundedIDsOnly int `json:"grounded_ids_only,omitempty"`
	// Leaks is nil if no forbidden text came back.
	Leaks *LeakFigures `json:"leaks,omitempty"`
	// Retrieval is null if no question has gold.
	Retrieval *Retrieval `json:"retrieval"`
	// Evidence is Retrieval by evidence: over the questions with expected evidence. Its only rank
	// measure is mrr, as several pieces may have one rank.
	Evidence *Retrieval `json:"evidence,omitempty"`
	// Gold is the kind of gold that scores retrieval: evidence if a question has it. It is empty if
	// no question has gold.
	Gold        GoldKind  `json:"gold,omitempty"`
	ReaderUsage TokenSums `json:"reader_usage"`
	// ReaderCost is nil if the daemon reported no tokens, and in a replay, whose CostAccounting has
	// the spending of daemons.
	ReaderCost *ReaderCost `json:"reader_cost,omitempty"`
	// Embeddings is nil if the daemon does not report its embeddings.
	Embeddings *Embeddings `json:"embeddings,omitempty"`
	// Escaped are the processes of a started daemon that had left its process group and
	// environment, and were ended with it. It is nil if they are unknown, and for a daemon that was
	// not started.
	Escaped []string `json:"escaped_processes,omitzero"`
	// OwnQuestions are the questions that evalctl asked before the run, and before each resume.
	OwnQuestions []OwnQuestion `json:"own_questions,omitempty"`
	Cost         Cost          `json:"cost"`
	// Admission is nil if the run wrote no text of its own to a brain. Suspect has the reasons why
	// the result may say nothing about the target, see Suspicions.
	Admission *Admission  `json:"admission,omitempty"`
	Suspect   []Suspicion `json:"suspect,omitempty"`

	// Mapped is nil for a daemon that speaks the protocol.
	Mapped *MappedService `json:"mapped,omitempty"`

	// Imported is nil unless another harness stored the answers.
	Imported *ImportSource `json:"imported,omitempty"`

	// CostAccounting and Replay are nil in the result of a run.
	CostAccounting *CostAccounting `json:"cost_accounting,omitempty"`
	Replay         *Replay         `json:"replay,omitempty"`
}

// BrainInfo is a brain in a result file. Documents is null for a brain that the run did not seed.
type BrainInfo struct {
	ID        string `json:"id"`
	Documents *int   `json:"documents"`
	Questions int    `json:"questions"`
}

// MeasuredAt returns when the run began that got the answers: StartedAt, except for a rescored
// result.
func (r *Result) MeasuredAt() time.Time {
	if was := r.Identity.Rescored; was != nil && !was.MeasuredAt.IsZero() {
		return was.MeasuredAt
	}
	return r.StartedAt
}
