package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// FakeModel is the only model of the Fake provider.
const FakeModel = "fake"

// Fake is a deterministic offline provider for tests and first runs. It
// understands three kinds of last user message, each one JSON object:
//
//   - {"question", "question_date"?, "notes": [{"id", "title"?, "date"?, "text"}]}
//     is answered by quoting the best sentences of the notes, each verbatim,
//     or by "I don't know: the notes do not say.";
//   - {"question", "reference_answer", "candidate_answer"} is judged by the share
//     of the reference's words that the candidate has: {"score", "reason"};
//   - {"query", "passages"} is rated by the share of the query's words that each
//     passage has, from 0 to 10: {"scores"}.
//
// Anything else is an *Error. A token is four bytes, and it costs nothing.
type Fake struct{}

// NewFake returns the offline provider.
func NewFake() Fake { return Fake{} }

// Name is "fake".
func (Fake) Name() string { return ProviderFake }

// Complete answers at once.
func (f Fake) Complete(ctx context.Context, r Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	text, err := f.answer(r)
	if err != nil {
		return Response{Attempts: 1}, err
	}
	reason := "stop"
	if limit := bytesPerToken * r.MaxTokens; len(text) > limit {
		text, reason = strings.ToValidUTF8(text[:limit], ""), "length"
	}
	u := estimate(r, text)
	u.Estimated = false // here the estimate is the definition
	return Response{Text: text, Model: FakeModel, FinishReason: reason, Usage: u, Attempts: 1}, nil
}

// Stream emits the answer word by word.
func (f Fake) Stream(ctx context.Context, r Request, emit func(string) error) (Response, error) {
	resp, err := f.Complete(ctx, r)
	if err != nil {
		return resp, err
	}
	for word := range strings.SplitAfterSeq(resp.Text, " ") {
		if err := ctx.Err(); err != nil {
			return Response{Attempts: 1}, err
		}
		if err := emit(word); err != nil {
			return Response{Attempts: 1}, err
		}
	}
	return resp, nil
}

// fakeInput is the union of all kinds of message; nil tells them apart.
type fakeInput struct {
	Question     string
	QuestionDate string      `json:"question_date"`
	Notes        *[]fakeNote `json:"notes"`
	Reference    *string     `json:"reference_answer"`
	Candidate    *string     `json:"candidate_answer"`
	Query        string
	Passages     *[]string
}

type fakeNote struct {
	Title string
	Date  string
	Text  string
}

func (Fake) answer(r Request) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	content := ""
	for _, m := range r.Messages {
		if m.Role == RoleUser {
			content = m.Content
		}
	}
	var in fakeInput
	err := json.Unmarshal([]byte(content), &in)
	switch {
	case err == nil && in.Notes != nil:
		return quoteNotes(in.Question, in.QuestionDate, *in.Notes), nil
	case err == nil && in.Reference != nil && in.Candidate != nil:
		score, reason := overlap(*in.Reference, *in.Candidate)
		return fmt.Sprintf(`{"score": %.2f, "reason": %q}`, score, reason), nil
	case err == nil && in.Passages != nil:
		return fakeRatings(in.Query, *in.Passages), nil
	}
	return "", &Error{Provider: ProviderFake, Model: FakeModel, Message: "the offline model understands only a last user message " +
		"that is a JSON object with question and notes, with question, reference_answer and candidate_answer, or with query and passages; " +
		"set SVC_LLM_PROVIDER to a real provider for anything else"}
}

// fakeRatings is the reply that an ModelReranker asks for.
func fakeRatings(query string, passages []string) string {
	wanted := terms(query)
	scores := make([]string, len(passages))
	for i, passage := range passages {
		had, found := terms(passage), 0
		for t := range wanted {
			if had[t] {
				found++
			}
		}
		scores[i] = fmt.Sprintf("%.2f", 10*float64(found)/float64(max(1, len(wanted))))
	}
	return `{"scores": [` + strings.Join(scores, ", ") + `]}`
}
