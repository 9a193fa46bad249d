package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// refusedError means that the provider rejects some texts by themselves, such as texts that are too
// long for its model, and accepts others.
type refusedError struct {
	places []int
	err    error
}

// Error contains the provider's reason for the first of the texts.
func (e *refusedError) Error() string {
	if len(e.places) == 1 {
		return "a text is rejected: " + e.err.Error()
	}
	return fmt.Sprintf("%d texts are rejected, the first one: %v", len(e.places), e.err)
}

// Unwrap returns the *Error of the first of the texts.
func (e *refusedError) Unwrap() error { return e.err }

// Refused returns the indexes of the texts in the call, in ascending order.
func (e *refusedError) Refused() []int { return e.places }

// refusedTexts combines the errors of single texts, by index, into one error. It returns nil if
// there are none.
func refusedTexts(errs []error) error {
	var refused refusedError
	for i, err := range errs {
		if err == nil {
			continue
		}
		if refused.places = append(refused.places, i); refused.err == nil {
			refused.err = err
		}
	}
	if refused.err == nil {
		return nil
	}
	return &refused
}

// probeText is a text that any working provider accepts.
const probeText = "text"

// resolve embeds texts and puts the errors of rejected texts into refused, at their indexes. If the
// provider also rejects probeText, the texts are not the cause, and resolve returns the error.
func (e *openAIEmbedder) resolve(ctx context.Context, texts []string, vectors [][]float32,
	refused []error) error {
	err := e.embed(ctx, texts, vectors)
	if !refusesInput(err) {
		return err
	}
	switch failed := e.embed(ctx, []string{probeText}, make([][]float32, 1)); {
	case refusesInput(failed):
		return err
	case failed != nil:
		return failed
	}
	return e.split(ctx, texts, vectors, refused, err)
}

// split embeds the two halves of texts that were rejected together.
func (e *openAIEmbedder) split(ctx context.Context, texts []string, vectors [][]float32,
	refused []error, refusal error) error {
	n := len(texts)
	if n == 1 {
		refused[0] = refusal
		return nil
	}
	for _, half := range [][2]int{{0, n / 2}, {n / 2, n}} {
		start, end := half[0], half[1]
		err := e.embed(ctx, texts[start:end], vectors[start:end])
		if refusesInput(err) {
			err = e.split(ctx, texts[start:end], vectors[start:end], refused[start:end], err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusesInput reports whether the texts of the request may have caused the error.
func refusesInput(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
