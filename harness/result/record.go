package result

import (
	"encoding/json"

	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Outcome is how a question ended.
type Outcome string

// Every question has one outcome. Only a scored question has a score. Errors and unscored questions
// count as not passed. Questions without gold, those that the target cannot be asked because it lacks
// an operation, and imported answers that nobody judged do not count.
const (
	Scored   Outcome = "scored"
	Errored  Outcome = "error"    // the daemon returned no usable answer
	Unscored Outcome = "unscored" // the scorer returned no usable verdict
	NoGold   Outcome = "no_gold"  // not asked: retrieval is scored and the question has no gold
	// NotMeasurable is a question that was not asked because the target lacks an operation that must
	// come before it.
	NotMeasurable Outcome = "not_measurable"
	// Unjudged is an imported answer on which its files have no verdict.
	Unjudged Outcome = "unjudged"
)

// Counts reports whether a question with this outcome is part of Counts.Total.
func (o Outcome) Counts() bool { return o.Asked() && o != Unjudged }

// Asked reports whether a question with this outcome was asked.
func (o Outcome) Asked() bool { return o != NoGold && o != NotMeasurable }

// Answered reports whether a question with this outcome has an answer.
func (o Outcome) Answered() bool { return o.Asked() && o != Errored }

// Reply is what a service answered to one question, and how: all that is known of an answer before
// it is scored. A new fact about answers is a field here, a key of the schema, and where it is shown.
type Reply struct {
	Answer    string            `json:"answer"`
	LatencyMS float64           `json:"latency_ms"`
	Citations []json.RawMessage `json:"citations"`

	// FeltMS is the time to the answer as the caller felt it, nil if it is LatencyMS. See Felt.
	FeltMS       *float64 `json:"felt_ms,omitempty"`
	FirstDeltaMS *float64 `json:"first_delta_ms"`
	// SearchMS is the part of LatencyMS that the daemon's search took, nil if the daemon took all of
	// it and in older files.
	SearchMS *float64 `json:"search_ms,omitempty"`
	// Untimed is set if LatencyMS is 0 because it was not recorded, as in imported answers.
	Untimed  bool `json:"untimed,omitempty"`
	Attempts int  `json:"attempts"`
	// Retrieved is nil only in an answer that failed before a list of chunks came. Records have an
	// empty list then.
	Retrieved     []Chunk `json:"retrieved"`
	EffectiveMode string  `json:"effective_mode,omitempty"`
	// Fusion is how a hybrid combined its rankings: the method and the weight of the ranking by
	// vectors, as in "score 0.2". It is empty if the daemon did not report it.
	Fusion string `json:"fusion,omitempty"`
	Model  string `json:"model,omitempty"`
	// PromptSHA256 identifies the reader's prompt, if the daemon reports it.
	PromptSHA256 string          `json:"prompt_sha256,omitempty"`
	Usage        *protocol.Usage `json:"usage,omitempty"`
	// Retrieval is nil if the question has no expected paths, if it failed before a list of chunks
	// came, or if the service does not say what its answers rest on.
	Retrieval *QuestionRetrieval `json:"retrieval,omitempty"`
	// Evidence is nil if the question has no expected evidence, and where Retrieval would be.
	Evidence *QuestionEvidence `json:"evidence,omitempty"`
	// Returned is nil unless Retrieval or Evidence is set, and in files of older versions.
	Returned *TextSize `json:"returned,omitempty"`
	// Leaks are the forbidden texts that came back. A question with leaks does not pass.
	Leaks []Leak `json:"leaks,omitempty"`
	// Timeline has the events of the answer's stream, in order of their arrival.
	Timeline Timeline `json:"timeline,omitempty"`
	// Failed are the attempts before the last one.
	Failed []Failure `json:"failed_attempts,omitempty"`
	// CutBytes is how much of the answer is not kept, 0 unless the question failed.
	CutBytes int `json:"cut_bytes,omitempty"`
	// Actor is the use of the model that wrote the answer, unless the daemon did.
	Actor *ModelUse `json:"actor,omitempty"`
	// DeepRank is the rank at which the first missing gold document was found below top-k: nil if it
	// was not looked for, 0 if it was not found.
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
	// ExpectedGrades are the grades of expected paths. One without a grade has 1.
	ExpectedGrades map[string]float64 `json:"expected_grades,omitempty"`
	// ExpectedEvidence are texts, each of which the passages must have.
	ExpectedEvidence []string `json:"expected_evidence,omitempty"`
	Checks           []Check  `json:"checks,omitempty"`
	// Forbidden are the texts that must not come back by the dataset. Those of deleted documents must
	// not either.
	Forbidden []string `json:"forbidden,omitempty"`
	// MustCite are paths of documents. Unless the answer cites one of them, it does not pass.
	MustCite []string `json:"must_cite,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Repeat counts the times that the question was asked, from 1, if it was asked several times. A
	// question is then identified by ID and Repeat.
	Repeat int    `json:"repeat,omitempty"`
	Brain  string `json:"brain,omitempty"` // if the run has several
	// Haystack is what the question is about, if that names its cluster and is not Brain.
	Haystack string `json:"haystack,omitempty"`
	Line     int    `json:"line"`
	// JudgeUnanswered is set if the answer has no verdict because the judge did not answer.
	JudgeUnanswered bool `json:"judge_unanswered,omitempty"`
	// Panel has the verdict of each recipe, in the order of Identity.Panel, whose first is the headline:
	// the verdict of the record. It is nil for one judge, and without an answer.
	Panel []RecipeVerdict `json:"judge_panel,omitempty"`
	// Votes are the judgements of an imported answer that was judged several times, each from 0 to 1,
	// in the order of its file.
	Votes         []float64 `json:"votes,omitempty"`
	JudgeAttempts int       `json:"judge_attempts,omitempty"`
	// JudgeAsked is how the judge was asked, if its endpoint or the user wants it otherwise than usual.
	JudgeAsked string          `json:"judge_asked,omitempty"`
	JudgeUsage *protocol.Usage `json:"judge_usage,omitempty"`
	// JudgeUsageEstimated is set if the provider did not count all tokens of JudgeUsage.
	JudgeUsageEstimated bool    `json:"judge_usage_estimated,omitempty"`
	JudgeUSD            llm.USD `json:"judge_usd,omitempty"`
	// JudgeCharges are the requests of JudgeAttempts that JudgeUSD charges otherwise than by the
	// provider's count of tokens, or whose count cannot be.
	JudgeCharges []JudgeCall `json:"judge_attempts_charged,omitempty"`
	// Tries counts the tries at the question: it was asked again, or its answer judged again, after a
	// failure. It is 0 for one. FirstTry is how the first of several ended.
	Tries    int  `json:"tries,omitempty"`
	FirstTry *Try `json:"first_try,omitempty"`

	// The remaining keys are those of a replay. Type is the stratum of the question, JudgeType
	// selects the prompts of its judge, Cause is what lost it.
	Type          string       `json:"question_type,omitempty"`
	JudgeType     string       `json:"judge_type,omitempty"`
	JudgeVerdict  JudgeVerdict `json:"judge_verdict,omitempty"`
	Cause         Cause        `json:"loss,omitempty"`
	JudgeCached   bool         `json:"judge_cached,omitempty"`
	JudgeSavedUSD llm.USD      `json:"judge_saved_usd,omitempty"`
	// Original is nil unless errata correct the gold of the question.
	Original *Original `json:"original,omitempty"`
}

// Item returns the parts of the question and its answer that a scorer sees.
func (r *Record) Item() scorer.Item {
	item := scorer.Item{
		ID: r.ID, Repeat: r.Repeat, Question: r.Question, QuestionDate: r.QuestionDate,
		Expected: r.Expected, Reference: r.Reference, Type: r.JudgeType, Category: r.Type, Answer: r.Answer,
		Checks: r.CheckDefinitions(), LatencyMS: r.Took(),
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

// Graded returns the record with a scorer's verdict. The reference and the JudgeVerdict of Original
// are the caller's to add.
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

// Took returns LatencyMS, nil if it was not recorded or the question was not asked.
func (r *Record) Took() *float64 {
	if r.Untimed || !r.Outcome.Asked() {
		return nil
	}
	return &r.LatencyMS
}

// Felt returns the time to the answer as the caller felt it, in milliseconds: that of the answering
// attempt, which is LatencyMS, of the attempts before it, and of the waits for Retry-After, backoff
// and rate limits. It is nil where Took is.
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
