package mcpserver

import (
	"context"
	"errors"
	"strings"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// askResult is the payload of memory_ask (spec 4.1).
type askResult struct {
	Answer    string                    `json:"answer"`
	Citations []protocol.CitationEvent  `json:"citations"`
	Retrieved []protocol.RetrievedChunk `json:"retrieved"`
	searchState
}

func ask(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(_ string, b *client.Brain) (reply, error) {
		a := answer{call: c, result: askResult{
			Citations: []protocol.CitationEvent{}, Retrieved: []protocol.RetrievedChunk{},
		}}
		done, err := b.Ask(ctx, protocol.AskRequest{
			Question: c.args.text("query"), TopK: c.args.number("top_k"),
		}, a.receive)
		if err != nil {
			return reply{}, a.failed(err)
		}
		a.result.Answer = done.Answer
		if done.Answer == "" { // a daemon that sends the answer only in pieces
			a.result.Answer = a.pieces.String()
		}
		return reply{a.result, a.result.Answer}, nil
	})
}

// answer collects the events of an answer.
type answer struct {
	call
	result    askResult
	begun     bool
	retrieved bool
	pieces    strings.Builder
}

func (a *answer) receive(event any) error {
	a.begun = true
	switch e := event.(type) {
	case protocol.RetrieveEvent:
		if !a.retrieved && e.Chunks != nil { // the first one counts (spec 2)
			a.result.Retrieved = e.Chunks
			a.result.searchState = searchState{e.EffectiveMode, e.Degraded, e.Indexing}
		}
		a.retrieved = true
	case protocol.DeltaEvent:
		a.pieces.WriteString(e.Delta)
		return a.progress(e.Delta)
	case protocol.CitationEvent:
		a.result.Citations = append(a.result.Citations, e)
	}
	return nil
}

// failed returns the error of an answer. After the stream has begun it is a streamError.
func (a *answer) failed(err error) error {
	if e, ok := errors.AsType[*client.AskError](err); ok {
		return &streamError{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
	}
	if !a.begun {
		return err
	}
	e := toolErrorOf(err)
	return &streamError{Code: e.Code, Message: e.Message, Retryable: true}
}
