package memory

import (
	"context"
	"fmt"
	"strings"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/reader"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
	"evalctl/internal/printable"
)

// ModelNone is the model in the done event of an ask that retrieved nothing. Its answer is
// reader.Abstention, and no model is called.
const ModelNone = "none"

// Emit receives one event of an ask stream: its name, one of protocol.Event…, and the payload that
// the protocol defines for it. An error ends the ask.
type Emit func(name string, payload any) error

// Ask answers a question from the brain's documents. It emits retrieve, answer_delta as the reader
// writes, the citations, and done. If it returns an error, it has not emitted done. An invalid
// request is an *ArgumentError. Invalid requests and failed retrievals are reported before the
// first event.
func (s *Service) Ask(ctx context.Context, h brain.Handle, r protocol.AskRequest, emit Emit) error {
	start := s.cfg.Now()
	q, err := parseQuery(protocol.SearchRequest{
		Query: r.Question, TopK: r.TopK, Mode: r.Mode, Scope: r.Scope, QuestionDate: r.QuestionDate, Filters: r.Filters,
		MaxPerDocument: r.MaxPerDocument,
	}, askText)
	if err != nil {
		return err
	}
	prompt, err := reader.PromptFor(r.ReaderMode)
	if err != nil {
		return argumentErrorf("reader_mode", "%v", err)
	}
	found, err := find(ctx, h, q)
	if err != nil {
		return err
	}
	event := protocol.RetrieveEvent{
		Chunks: previews(found.Hits), Mode: string(q.Mode), EffectiveMode: string(found.Mode),
		Fusion: fusion(found.Result), Degraded: found.Degraded, Indexing: found.Indexing,
	}
	if err := emit(protocol.EventRetrieve, event); err != nil {
		return err
	}
	done, citations, err := s.read(ctx, prompt, r, found.Hits, emit)
	if err != nil {
		return err
	}
	for _, c := range citations {
		if err := emit(protocol.EventCitation, c); err != nil {
			return err
		}
	}
	done.TookMS = s.millisSince(start)
	return emit(protocol.EventDone, done)
}

// read streams the reader's answer without its thoughts and markers, and returns its citations,
// which count characters of the answer.
func (s *Service) read(
	ctx context.Context, prompt reader.Prompt, r protocol.AskRequest, hits []search.Hit, emit Emit,
) (protocol.DoneEvent, []protocol.CitationEvent, error) {
	show := func(text string) error {
		if text == "" {
			return nil
		}
		return emit(protocol.EventDelta, protocol.DeltaEvent{Delta: text})
	}
	if len(hits) == 0 {
		return protocol.DoneEvent{OK: true, Answer: reader.Abstention, Model: ModelNone}, nil, show(reader.Abstention)
	}
	request, err := prompt.Request(s.cfg.Model, reader.Question{Text: r.Question, Date: r.QuestionDate}, hits)
	if err != nil {
		return protocol.DoneEvent{}, nil, err
	}
	var speech llm.Speech
	shown := reader.NewAnswer(hits)
	request.Emit = func(delta string) error { return show(shown.Write(speech.Next(delta))) }
	response, err := s.cfg.Reader.Complete(ctx, request)
	if err != nil {
		return protocol.DoneEvent{}, nil, fmt.Errorf("reader %s: %w", s.cfg.Model, err)
	}
	if err := checkFinish(response); err != nil {
		return protocol.DoneEvent{}, nil, err
	}
	if err := show(shown.Write(speech.Rest()) + shown.Close()); err != nil {
		return protocol.DoneEvent{}, nil, err
	}
	// The answer is what was shown, without thoughts that were begun in the prompt.
	answer := reader.NewAnswer(hits)
	answer.Write(llm.AfterThoughts(response.Text))
	answer.Close()
	if strings.TrimSpace(answer.Text()) == "" {
		return protocol.DoneEvent{}, nil, fmt.Errorf("%w: %s returned no text, with finish reason %q",
			ErrReaderSilent, response.Model, response.FinishReason)
	}
	return protocol.DoneEvent{
		OK: true, Answer: answer.Text(), Model: response.Model, PromptSHA256: prompt.SHA256(),
		Usage: protocol.Usage{InputTokens: response.Usage.InputTokens, OutputTokens: response.Usage.OutputTokens},
	}, answer.Citations(), nil
}

func previews(hits []search.Hit) []protocol.RetrievedChunk {
	chunks := make([]protocol.RetrievedChunk, len(hits))
	for i, h := range hits {
		chunks[i] = protocol.RetrievedChunk{
			ChunkID: h.ChunkID, DocumentID: h.Path, Score: h.Score, Preview: printable.First(h.Text, protocol.MaxPreviewChars),
			Duplicates: duplicates(h), MoreDuplicates: h.MoreDuplicates,
		}
	}
	return chunks
}

// checkFinish rejects an answer that the model did not complete, so that no part is lost silently.
func checkFinish(r llm.Response) error {
	if r.Cut() || r.FinishReason == "content_filter" {
		return fmt.Errorf("%w: %s gave finish reason %s", ErrReaderStopped, r.Model, r.FinishReason)
	}
	return nil
}
