package distill

import (
	"context"
	"encoding/json"
	"fmt"

	"evalctl/internal/llm"
)

const (
	replyTokens = 4096
	// Reasoning models spend most of their tokens before the reply.
	reasoningTokens = 16_384
	// maxFakeReply is the part of a reply that the provider "fake" passes, in bytes.
	maxFakeReply = 4 * replyTokens

	// maxReply limits the replies that are parsed, in bytes.
	maxReply = 256 << 10
	// maxQuoted is how much of a rejected reply the second request repeats, in bytes.
	maxQuoted = 4096
)

// question is a request whose reply has the shape that parse accepts.
type question[T any] struct {
	prompt string
	input  any           // becomes the user message
	fake   func() string // the offline reply
	parse  func(reply string) (T, error)
}

// ask makes one request, and a second one if the reply to the first has the wrong shape. A reply
// that the model did not complete is not requested again: it would be as long again.
func ask[T any](ctx context.Context, d *Distiller, q question[T], use *Use) (T, error) {
	var none T
	body, err := json.Marshal(q.input)
	if err != nil {
		return none, fmt.Errorf("encode the texts for model %s: %w", d.model, err)
	}
	req := llm.Request{
		Model: d.model,
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: q.prompt},
			{Role: llm.RoleUser, Content: string(body)},
		},
		MaxTokens: replyTokens,
		JSON:      true,
		Fake:      q.fake,
	}
	if llm.IsReasoningModel(d.model) {
		req.MaxTokens = reasoningTokens
	}
	for attempt := 1; ; attempt++ {
		resp, err := d.provider.Complete(ctx, req)
		use.add(resp)
		if err != nil {
			return none, fmt.Errorf("model %s: %w", d.model, err)
		}
		switch {
		case resp.Cut():
			return none, fmt.Errorf("%w: %s was cut at %d tokens", ErrReply, resp.Model, req.MaxTokens)
		case resp.FinishReason == "content_filter":
			return none, fmt.Errorf("%w: %s was stopped by its content filter", ErrReply, resp.Model)
		}
		got, problem := q.parse(resp.Text)
		if problem == nil {
			return got, nil
		}
		if attempt == 2 {
			return none, fmt.Errorf("%w: %s was asked twice, and its second reply was rejected: %w",
				ErrReply, resp.Model, problem)
		}
		quoted, _ := cut(resp.Text, maxQuoted)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Content: quoted},
			llm.Message{Role: llm.RoleUser, Content: repairPrompt(problem)})
	}
}

func repairPrompt(problem error) string {
	return "That reply was rejected: " + problem.Error() + ". Reply once more to the first " +
		"message, with one JSON object of the shape that the rules give and nothing around it."
}
