package judging

import (
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Check is what a check of a judge found.
type Check struct {
	Judge result.JudgeModel `json:"judge"`
	Accuracy
	// Spent is nil if the price of the model is not known.
	Spent *llm.USD `json:"spent_usd"`
	// Unpriced is the model if its price is not known, so that its cost is missing.
	Unpriced string `json:"unpriced_model,omitempty"`
	// Result and Correction are those of --result.
	Result     string      `json:"result,omitempty"`
	Correction *Correction `json:"correction,omitempty"`
}
