// Package rows exports the questions of a result as CSV and as JSON Lines, one row for each
// question and repeat.
package rows

import (
	"encoding/json"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Row is a question of a result. The tags name the columns in order, and doc describes them.
// Columns may be added, but are never renamed, removed or redefined. A missing value is nil, and an
// empty cell.
type Row struct {
	SDK        string   `json:"sdk" doc:"The target, as in the result."`
	ID         string   `json:"id" doc:"The id of the question."`
	Repeat     int64    `json:"repeat" doc:"Which time it is that the question was asked, from 1."`
	Line       int64    `json:"line" doc:"Line of the question in the dataset, from 1; 0 if it is no file of lines."`
	Brain      string   `json:"brain" doc:"The brain that was asked."`
	Type       *string  `json:"question_type" doc:"The stratum of the question in a replay."`
	Question   string   `json:"question" doc:"The text that was asked."`
	AsOf       *string  `json:"question_date" doc:"When the question is asked, as the dataset has it."`
	Tags       string   `json:"tags" doc:"The tags, as a JSON list."`
	Outcome    string   `json:"outcome" doc:"scored, error, unscored, no_gold, not_measurable or unjudged."`
	Passed     bool     `json:"passed" doc:"Whether the question passed; false for what is not scored."`
	Score      *float64 `json:"score" doc:"From 0 to 1; none unless the outcome is scored."`
	Reason     *string  `json:"reason" doc:"The scorer's explanation."`
	Loss       *string  `json:"loss" doc:"What lost the question, in a replay."`
	ErrorKind  *string  `json:"error_kind" doc:"The kind of the failure, if there is no answer."`
	Error      *string  `json:"error" doc:"The message of the failure."`
	Answer     string   `json:"answer" doc:"The answer, or the part that arrived before a failure."`
	Reference  *string  `json:"reference_answer" doc:"The reference answer of the dataset."`
	Expected   string   `json:"expected_substrings" doc:"The expected substrings of the dataset, as a JSON list."`
	Gold       string   `json:"expected_paths" doc:"The expected paths of the dataset, as a JSON list."`
	Checks     int64    `json:"checks" doc:"Number of checks of the question."`
	ChecksHeld *int64   `json:"checks_held" doc:"Number of checks that hold; none if they were not applied."`
	CheckList  string   `json:"check_results" doc:"The checks with their outcomes, as a JSON list of objects."`
	LatencyMS  *float64 `json:"latency_ms" doc:"Time of the answering attempt to the complete answer, in milliseconds; none if it was not recorded, the question was not asked, or the answer is from the cache of a replay."`
	FeltMS     *float64 `json:"felt_ms" doc:"Time as the caller felt it, with failed attempts and waits, in milliseconds; none where latency_ms is."`
	FirstMS    *float64 `json:"first_delta_ms" doc:"Time to the first text, in milliseconds; none if none was streamed, or the answer is from the cache."`
	SearchMS   *float64 `json:"search_ms" doc:"The part of latency_ms that the search took, if evalctl's reader answered."`
	Attempts   int64    `json:"attempts" doc:"How often the question was sent."`
	Mode       *string  `json:"effective_mode" doc:"The retrieval mode that ran, as the daemon reported it."`
	Model      *string  `json:"model" doc:"The model that answered, as the daemon reported it."`
	In         *int64   `json:"input_tokens" doc:"Tokens that the daemon reported as read by its model."`
	Out        *int64   `json:"output_tokens" doc:"Tokens that the daemon reported as written by its model."`
	Citations  int64    `json:"citations" doc:"Number of citations."`
	Retrieved  int64    `json:"retrieved" doc:"Number of retrieved passages."`
	Evidence   *float64 `json:"evidence_recall" doc:"Share of the expected evidence that the first top-k passages have. None without expected evidence."`
	Tokens     *int64   `json:"returned_tokens" doc:"Tokens of the first top-k passages, estimated at four bytes each. None without expected paths or evidence."`
	GoldRank   *int64   `json:"gold_rank" doc:"Rank of the first expected document, from 1; 0 if it was not retrieved. None without expected paths."`
	Recall     *float64 `json:"recall" doc:"Recall at top-k of the expected documents."`
	NDCG       *float64 `json:"ndcg" doc:"NDCG at top-k of the expected documents."`
	RR         *float64 `json:"reciprocal_rank" doc:"Reciprocal rank of the first expected document."`
	JudgeCalls int64    `json:"judge_attempts" doc:"Number of HTTP requests that judged the answer."`
	JudgeUSD   float64  `json:"judge_usd" doc:"What judging the answer was charged, in US dollars."`
}

// rowOf returns the row of a question.
func rowOf(res *result.Result, r *result.Record) Row {
	row := Row{
		SDK: res.SDK, ID: r.ID, Repeat: int64(max(1, r.Repeat)), Line: int64(r.Line), Brain: r.Brain,
		Type: text(r.Type), Question: r.Question, AsOf: text(r.QuestionDate), Tags: list(r.Tags),
		Outcome: string(r.Outcome), Passed: r.Passed, Score: r.Score, Reason: text(r.Reason), Loss: text(string(r.Cause)),
		Answer: r.Answer, Reference: text(r.Reference), Expected: list(r.Expected), Gold: list(r.ExpectedPaths),
		Checks: int64(len(r.Checks)), CheckList: list(r.Checks),
		LatencyMS: r.Took(), FeltMS: r.Felt(), FirstMS: r.FirstToken(), SearchMS: r.SearchMS, Attempts: int64(r.Attempts),
		Mode: text(r.EffectiveMode), Model: text(r.Model),
		Citations: int64(len(r.Citations)), Retrieved: int64(len(r.Retrieved)),
		JudgeCalls: int64(r.JudgeAttempts), JudgeUSD: float64(r.JudgeUSD) / float64(llm.Dollar),
	}
	if row.Brain == "" && len(res.Brains) < 2 {
		row.Brain = res.Brain
	}
	if f := r.Error; f != nil {
		row.ErrorKind, row.Error = text(string(f.Kind)), text(f.Message)
	}
	if u := r.Usage; u != nil {
		row.In, row.Out = new(int64(u.InputTokens)), new(int64(u.OutputTokens))
	}
	if e := r.Evidence; e != nil {
		row.Evidence = &e.Recall
	}
	if s := r.Returned; s != nil {
		row.Tokens = new(int64(s.Tokens))
	}
	if q := r.Retrieval; q != nil {
		row.GoldRank = new(int64(r.GoldRank()))
		row.Recall, row.NDCG, row.RR = &q.Recall, &q.NDCG, &q.ReciprocalRank
	}
	for _, c := range r.Checks {
		if c.Holds == nil {
			continue
		}
		if row.ChecksHeld == nil {
			row.ChecksHeld = new(int64)
		}
		if *c.Holds {
			*row.ChecksHeld++
		}
	}
	return row
}

// text returns nil for an empty text.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// list returns a JSON list.
func list[T any](values []T) string {
	if len(values) == 0 {
		return "[]"
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts, finite numbers and booleans
	}
	return string(data)
}
