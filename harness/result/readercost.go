package result

import (
	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
)

// ReaderCost is the cost of the tokens that a daemon reported for its reader, at list prices. The
// daemon pays for them: they are in no other cost, and no cap limits them.
type ReaderCost struct {
	// USD is the sum over Models, nil if any price is unknown.
	USD *llm.USD `json:"usd"`
	// PricesDate is the day of the list prices, YYYY-MM-DD, empty if unknown.
	PricesDate string `json:"prices_date,omitempty"`
	// Models are by the name reported by the daemon, "" if it reported none.
	Models map[string]ReaderModelCost `json:"models"`
}

// ReaderModelCost is the part of a model. USD and Price are nil if the price is unknown.
type ReaderModelCost struct {
	TokenSums
	USD   *llm.USD    `json:"usd"`
	Price *ModelPrice `json:"price"`
}

// OwnQuestion is a question that evalctl asked of a daemon before a run, to see whether its answers
// can be read. It counts nowhere, except that what the daemon reported for its reader is in
// ReaderCost.
type OwnQuestion struct {
	Question string `json:"question"`
	// Requests is how often the question was sent.
	Requests int    `json:"requests"`
	Model    string `json:"model,omitempty"`
	// Usage is nil if the daemon reported none.
	Usage *protocol.Usage `json:"usage,omitempty"`
}
