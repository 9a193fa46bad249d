package result

import (
	"encoding/json"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Outcome is how a question ended.
type Outcome string

// Every question has one outcome. Only a scored question has a score. Errors and unscored questions
// count as not passed. These do not count: questions without gold, questions that need an operation
// that the target does not support, and imported answers without a verdict.
const (
	Scored   Outcome = "scored"
	Errored  Outcome = "error"    // the daemon returned no usable answer
	Unscored Outcome = "unscored" // the scorer returned no usable verdict
	NoGold   Outcome = "no_gold"  // not asked: retrieval is scored and the question has no gold
	// NotMeasurable is a question that was not asked because the target does not support an
	// operation required before it.
	NotMeasurable Outcome = "not_measurable"
	// Unjudged is an imported answer without a verdict in its files.
	Unjudged Outcome = "unjudged"
)

// Counts reports whether a question with this outcome is part of Counts.Total.
func (o Outcome) Counts() bool { return o.Asked() && o != Unjudged }

// Asked reports whether a question with this outcome was asked.
func (o Outcome) Asked() bool { return o != NoGold && o != NotMeasurable }

// Answered reports whether a question with this outcome has an answer.
func (o Outcome) Answered() bool { return o.Asked() && o != Errored }

// Reply is a service's answer to one question with its context, as known before scoring. A new fact
// about answers needs a field here, a key of the schema, and a place in the reports.
type Reply struct {
	Answer    string            `json:"answer"`
	LatencyMS float64           `json:"latency_ms"`
	Citations []json.RawMessage `json:"citations"`

	// AskedAt is when the first attempt began, zero if it was not recorded, as in imported answers and
	// older files. The answer was there FeltMS later.
	AskedAt time.Time `json:"asked_at,omitzero"`
	// FeltMS is the time to the answer as the caller felt it, nil if it is LatencyMS. See Felt.
	FeltMS       *float64 `json:"felt_ms,omitempty"`
	FirstDeltaMS *float64 `json:"first_delta_ms"`
	// SearchMS is the part of LatencyMS taken by the daemon's search, nil if the daemon took all of
	// it and in older files.
	SearchMS *float64 `json:"search_ms,omitempty"`
	// Untimed is set if LatencyMS is 0 because it was not recorded, as in imported answers.
	Untimed  bool `json:"untimed,omitempty"`
	Attempts int  `json:"attempts"`
	// Retrieved is nil only in an answer that failed before a list of chunks arrived. Records then
	// have an empty list.
	Retrieved     []Chunk `json:"retrieved"`
	EffectiveMode string  `json:"effective_mode,omitempty"`
	// Fusion is how a hybrid search combined its rankings: the method and the weight of the vector
	// ranking, such as "score 0.2". It is empty if the daemon did not report it.
	Fusion string `json:"fusion,omitempty"`
	Model  string `json:"model,omitempty"`
	// PromptSHA256 identifies the reader's prompt, if the daemon reports it.
	PromptSHA256 string          `json:"prompt_sha256,omitempty"`
	Usage        *protocol.Usage `json:"usage,omitempty"`
	// Retrieval is nil if the question has no expected paths, if it failed before a list of chunks
	// arrived, or if the service does not report the passages that its answers rest on.
	Retrieval *QuestionRetrieval `json:"retrieval,omitempty"`
	// Evidence is nil if the question has no expected evidence, and for the other reasons of
	// Retrieval.
	Evidence *QuestionEvidence `json:"evidence,omitempty"`
	// Returned is nil unless Retrieval or Evidence is set, and in files of older versions.
	Returned *TextSize `json:"returned,omitempty"`
	// Leaks are the forbidden texts that came back. A question with leaks does not pass.
	Leaks []Leak `json:"leaks,omitempty"`
	// Timeline has the events of the answer's stream, in order of arrival.
	Timeline Timeline `json:"timeline,omitempty"`
	// Failed are the attempts before the last one.
	Failed []Failure `json:"failed_attempts,omitempty"`
	// CutBytes is the length of the omitted part of the answer, 0 unless the question failed.
	CutBytes int `json:"cut_bytes,omitempty"`
	// Actor is the use of the model that wrote the answer, nil if the daemon wrote it.
	Actor *ModelUse `json:"actor,omitempty"`
	// DeepRank is the rank beyond top-k of the first missing gold document: nil if it was not
	// searched for, 0 if it was not found.
	DeepRank *int `json:"deep_rank,omitempty"`
}

// Record is one question in the result file.
type Record struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Score    *float64 `json:"score"`
	Passed   bool     `json:"passed"`
	Outcome  Outcome  `json:"outcome"`
	Reason   string   `json:"reason,omitempty"`
	Error    *Failure `json:"error,omitempty"`

	Reply

	QuestionDate  string   `json:"question_date,omitempty"`
	Expected      []string `json:"expected_substrings,omitempty"`
	Reference     string   `json:"reference_answer,omitempty"`
	ExpectedPaths []string `json:"expected_paths,omitempty"`
	// ExpectedGrades are the grades of expected paths, 1 if missing.
	ExpectedGrades map[string]float64 `json:"expected_grades,omitempty"`
	// ExpectedEvidence are texts, all of which the passages must contain.
	ExpectedEvidence []string `json:"expected_evidence,omitempty"`
	Checks           []Check  `json:"checks,omitempty"`
	// Forbidden are the dataset's texts that must not come back. Texts of deleted documents are
	// forbidden too.
	Forbidden []string `json:"forbidden,omitempty"`
	// MustCite are paths of documents. The answer passes only if it cites one of them.
	MustCite []string `json:"must_cite,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Repeat numbers the repeats of a question from 1, 0 if it was asked once.
	Repeat int    `json:"repeat,omitempty"`
	Brain  string `json:"brain,omitempty"` // if the run has several
	// Haystack is the haystack of the question, if it names the cluster and differs from Brain.
	Haystack string `json:"haystack,omitempty"`
	Line     int    `json:"line"`
	// JudgeUnanswered is set if the answer lacks a verdict because the judge, or another one of the
	// panel, did not answer. The headline may have judged it.
	JudgeUnanswered bool `json:"judge_unanswered,omitempty"`
	// Panel has the verdict of each recipe, in the order of Identity.Panel. The first is the
	// headline, the verdict of the record. It is nil for one judge, and without an answer.
	Panel []RecipeVerdict `json:"judge_panel,omitempty"`
	// Votes are the judgements of an imported answer that was judged several times, each from 0 to
	// 1, in file order.
	Votes         []float64 `json:"votes,omitempty"`
	JudgeAttempts int       `json:"judge_attempts,omitempty"`
	// JudgedAt is when the judging began, and JudgeMS how long it took, with all attempts and waits.
	// They are zero without JudgeAttempts and in older files.
	JudgedAt time.Time `json:"judged_at,omitzero"`
	JudgeMS  float64   `json:"judge_ms,omitempty"`
	// JudgeAsked is how the judge was asked, if its endpoint or the user wants it otherwise than usual.
	JudgeAsked string          `json:"judge_asked,omitempty"`
	JudgeUsage *protocol.Usage `json:"judge_usage,omitempty"`
	// JudgeUsageEstimated is set if the provider did not count all tokens of JudgeUsage.
	JudgeUsageEstimated bool    `json:"judge_usage_estimated,omitempty"`
	JudgeUSD            llm.USD `json:"judge_usd,omitempty"`
	// JudgeCharges are the requests of JudgeAttempts whose charge is not based on the provider's
	// token count, or whose token count is impossible.
	JudgeCharges []JudgeCall `json:"judge_attempts_charged,omitempty"`
	// Tries counts the tries at the question, which was asked or judged again after a failure. It
	// is 0 for one try. FirstTry is the result of the first of several.
	Tries    int  `json:"tries,omitempty"`
	FirstTry *Try `json:"first_try,omitempty"`

	// The remaining keys are set in a replay. Type is the stratum of the question, JudgeType
	// selects the judge's prompt, and Cause is the cause of a loss.
	Type          string       `json:"question_type,omitempty"`
	JudgeType     string       `json:"judge_type,omitempty"`
	JudgeVerdict  JudgeVerdict `json:"judge_verdict,omitempty"`
	Cause         Cause        `json:"loss,omitempty"`
	JudgeCached   bool         `json:"judge_cached,omitempty"`
	JudgeSavedUSD llm.USD      `json:"judge_saved_usd,omitempty"`
	// Original is nil unless errata correct the gold of the question.
	Original *Original `json:"original,omitempty"`
}

// AskedID identifies a question of a result: its id, and the repeat, 0 if it was asked once.
type AskedID struct {
	ID     string
	Repeat int
}

// Asked returns what identifies the record in its result.
func (r *Record) Asked() AskedID { return AskedID{r.ID, r.Repeat} }

// Item returns the parts of the question and its answer that a scorer sees.
func (r *Record) Item() scorer.Item {
	item := scorer.Item{
		ID: r.ID, Repeat: r.Repeat, Question: r.Question, QuestionDate: r.QuestionDate,
		Expected: r.Expected, Reference: r.Reference, Type: r.JudgeType, Category: r.Type, Answer: r.Answer,
		Checks: r.CheckDefinitions(), LatencyMS: r.Took(), FromCache: r.FromCache(),
	}
	for i, c := range item.Checks {
		item.Checks[i].Cites = bare(c.Cites)
	}
	item.Cited, item.Retrieved = r.documents()
	if r.Retrieval != nil {
		item.Gold = r.Retrieval.Gold
	}
	if r.Evidence != nil {
		item.Evidence = r.Evidence.Ranking()
	}
	return item
}

// Graded returns the record with a scorer's verdict. The caller must set the reference and the
// JudgeVerdict of Original.
func (r Record) Graded(v scorer.Verdict) Record {
	v = r.Conditioned(v)
	r.Passed, r.Reason, r.JudgeUnanswered = v.Passed(), v.Reason, v.Unanswered
	if !v.Scored && r.Reason == "" {
		r.Reason = "the scorer gave neither a verdict nor a reason"
	}
	r.JudgeAttempts, r.JudgeUSD, r.JudgeAsked = v.Attempts, v.Cost, v.Asked
	r.JudgeCached, r.JudgeSavedUSD = v.Cached, v.Saved
	r.Checks = withOutcomes(r.Checks, v.Checks)
	if v.Attempts > 0 {
		r.JudgeUsage = &protocol.Usage{
			InputTokens: v.Usage.InputTokens, OutputTokens: v.Usage.OutputTokens,
		}
		r.JudgeUsageEstimated = v.Usage.Estimated
	}
	if v.Scored {
		r.Outcome, r.Score = Scored, &v.Score
	}
	r.Panel = nil
	for _, one := range v.Recipes {
		given := r.Conditioned(one.Verdict)
		rv := RecipeVerdict{Recipe: one.Recipe, Passed: given.Passed(), Reason: given.Reason}
		if given.Scored {
			rv.Score = new(given.Score)
		}
		r.Panel = append(r.Panel, rv)
	}
	if o := v.Original; o != nil {
		r.Original = &Original{Passed: o.Passed(), Reason: o.Reason, USD: o.Cost}
		if o.Scored {
			r.Original.Score = &o.Score
		}
	}
	return r
}

// FromCache reports whether evalctl's own cache gave the answer. No model wrote it then, so that
// its times are not the ones of the service.
func (r *Record) FromCache() bool { return r.Actor != nil && r.Actor.Cached }

// Timed reports whether the time to the answer was recorded, and is the one of the service.
func (r *Record) Timed() bool { return !r.Untimed && !r.FromCache() }

// Took returns LatencyMS, nil unless it is Timed and the question was asked.
func (r *Record) Took() *float64 {
	if !r.Timed() || !r.Outcome.Asked() {
		return nil
	}
	return &r.LatencyMS
}

// FirstToken returns FirstDeltaMS, nil if it was not recorded or the answer is FromCache.
func (r *Record) FirstToken() *float64 {
	if r.FromCache() {
		return nil
	}
	return r.FirstDeltaMS
}

// Felt returns the time to the answer including waits, in milliseconds: the answering attempt,
// which is LatencyMS, earlier attempts, and waits for Retry-After, backoff and rate limits. It is
// nil where Took is.
func (r *Record) Felt() *float64 {
	took := r.Took()
	if took != nil && r.FeltMS != nil {
		return r.FeltMS
	}
	return took
}

// GoldRank returns the rank of the first gold document among the retrieved ones, counted from 1,
// and 0 if none was retrieved.
func (r *Record) GoldRank() int {
	first := 0
	if r.Retrieval != nil {
		for _, g := range r.Retrieval.Gold {
			if g.Rank > 0 && (first == 0 || g.Rank < first) {
				first = g.Rank
			}
		}
	}
	return first
}
