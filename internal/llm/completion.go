package llm

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"
)

// The answers have only what is used: the library refuses a whole answer for a field of another
// type that nobody needs. Usage may have any form, for ParseUsage.
type (
	completion struct {
		Model   looseText       `json:"model"`
		Usage   json.RawMessage `json:"usage"`
		Choices []struct {
			FinishReason looseText `json:"finish_reason"`
			Message      struct {
				Content json.RawMessage `json:"content"`
				Refusal looseText       `json:"refusal"`
			} `json:"message"`
		} `json:"choices"`
	}
	completionChunk struct {
		Model   looseText       `json:"model"`
		Usage   json.RawMessage `json:"usage"`
		Choices []struct {
			FinishReason looseText `json:"finish_reason"`
			Delta        struct {
				// Content is the text as it was sent, which may be half a character.
				Content json.RawMessage `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
	}
	// looseText is empty for a value of another type, which must not lose an answer.
	looseText string
)

// UnmarshalJSON returns no error.
func (t *looseText) UnmarshalJSON(data []byte) error {
	text, _ := textOf(data)
	*t = looseText(text)
	return nil
}

// contentText returns the text of a message: a text, or a list of parts, of which those of
// thoughts are left out.
func contentText(content json.RawMessage) (text string, err error) {
	var parts []struct {
		Type openai.ChatMessagePartType `json:"type"`
		Text looseText                  `json:"text"`
	}
	if text, ok := textOf(content); ok || len(content) == 0 {
		return text, nil
	}
	err = json.Unmarshal(content, &parts)
	for _, part := range parts {
		if part.Type == openai.ChatMessagePartTypeText {
			text += string(part.Text)
		}
	}
	return text, err
}
