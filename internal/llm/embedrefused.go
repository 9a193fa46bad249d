package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// refusedError says that a provider refuses some texts by themselves, such as
// those that are too long for its model, while it takes others.
type refusedError struct {
	places []int
	err    error
}

// Error tells the provider's reason for the first of the texts.
func (e *refusedError) Error() string {
	if len(e.places) == 1 {
		return "a text is refused: " + e.err.Error()
	}
	return fmt.Sprintf("%d texts are refused, the first one: %v", len(e.places), e.err)
}

// Unwrap gives the *Error of the first of the texts.
func (e *refusedError) Unwrap() error { return e.err }

// Refused gives the places of the texts in the call, ascending.
func (e *refusedError) Refused() []int { return e.places }

// refusedTexts makes one error of those by place.
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

// probeText is what no provider refuses that takes anything.
const probeText = "text"

// settle embeds texts, and puts into refused, in their places, what the provider
// says of those that it refuses. A provider that refuses probeText as well
// does not mean the texts.
func (e *openAIEmbedder) resolve(ctx context.Context, texts []string, vectors [][]float32, refused []error) error {
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

// split embeds by halves the texts that were refused together.
func (e *openAIEmbedder) split(ctx context.Context, texts []string, vectors [][]float32, refused []error, refusal error) error {
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

// refusesInput reports whether an error may be about the texts of a request.
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
