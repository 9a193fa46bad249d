package result

import (
	"time"

	"evalctl/internal/llm"
)

// Bill is the file next to a result that lists the requests of its cost.
type Bill struct {
	// File is the name of the file, in the folder of the result.
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Requests int    `json:"requests"`
}

// BillLine is a line of a bill: a request to a model, or a cached reply.
type BillLine struct {
	// At is the time of the outcome, zero if it was not recorded.
	At time.Time `json:"at,omitzero"`
	// Part is the part of the cost.
	Part CostPartName `json:"part"`
	// Question is empty if the request belongs to no question, or its question is unknown, as for a
	// daemon's requests.
	Question     string  `json:"question,omitempty"`
	Model        string  `json:"model"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	USD          llm.USD `json:"usd"`
	// MayHaveUSD is USD if this is the worst case, because the provider did not count the tokens.
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd,omitempty"`
	// Estimated is set if the tokens are estimated. Unpriced is set if the model's price is
	// unknown.
	Estimated bool `json:"usage_estimated,omitempty"`
	Unpriced  bool `json:"unpriced,omitempty"`
	// Cached is set for a cached reply, which costs nothing. SavedUSD is its cost without the
	// cache.
	Cached   bool    `json:"cached,omitempty"`
	SavedUSD llm.USD `json:"saved_usd,omitempty"`
}

// CostPartName names a part of a cost.
type CostPartName string

// The parts of a cost. Facts are extracted by a daemon from documents and sessions before questions
// are asked.
const (
	PartReader     CostPartName = "reader"
	PartJudge      CostPartName = "judge"
	PartEmbeddings CostPartName = "embeddings"
	PartDaemon     CostPartName = "daemon"
)

// CostParts are the parts of a cost. The first four add up to the total and include possible
// charges.
type CostParts struct {
	// ReaderUSD is the cost of answers, by evalctl's reader or a daemon's.
	ReaderUSD     llm.USD `json:"reader_usd"`
	JudgeUSD      llm.USD `json:"judge_usd"`
	EmbeddingsUSD llm.USD `json:"embeddings_usd"`
	// DaemonUSD is the cost of a daemon besides answers and embeddings, such as the extraction of
	// facts.
	DaemonUSD  llm.USD `json:"daemon_usd"`
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd"`
}

// Total adds up the parts.
func (p *CostParts) Total() llm.USD {
	return p.ReaderUSD.Plus(p.JudgeUSD).Plus(p.EmbeddingsUSD).Plus(p.DaemonUSD)
}
