package actor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// maxReadings limits how often a request is streamed. Only a stream that broke off in the middle is
// repeated: the provider retries other failures.
const maxReadings = 3

// read asks the reader and returns ans with the answer. left is the number of notes omitted from
// the request.
func (a *Actor) read(
	ctx context.Context, l limit, req llm.Request, left int, ans target.Answer,
) (target.Answer, error) {
	limited := newStopwatch(ctx, l)
	defer limited.close()
	before, waited := ans.Latency, ans.Waited
	sent := newAttemptClock()
	rctx := sent.watch(limited)
	ans.PromptSHA256 = promptSHA256()
	ans.Actor = &result.ModelUse{Model: req.Model, LeftOut: left}
	retried := func(f *target.Failure) {
		ans.Failed = append(ans.Failed, f.Failure)
		ans.Attempts++
	}
	req.Retried = func(e *llm.Error) { retried(readerFailure(e)) }
	var speech llm.Speech
	begun := false // the stream, perhaps with thoughts
	hear := func(text string) {
		if text == "" {
			return
		}
		came := before + time.Since(sent.began())
		ans.Timeline.Add(protocol.EventDelta, came)
		if ans.FirstDelta == 0 {
			ans.FirstDelta = came
		}
	}
	req.Emit = func(piece string) error {
		begun = true
		hear(speech.Next(piece))
		return nil
	}
	for reading := 1; ; reading++ {
		ans.FirstDelta, ans.Timeline, speech, begun = 0, nil, llm.Speech{}, false
		if reading > 1 {
			sent.restart()
		}
		resp, err := a.cfg.Reader.Complete(rctx, req)
		ans.Latency = before + time.Since(sent.began())
		ans.Waited = waited + sent.waited()
		addUse(&ans, resp)
		if err == nil {
			hear(speech.Rest())
			ans.Timeline.Add(protocol.EventDone, ans.Latency)
			err = complete(&ans, resp)
			return ans, err
		}
		err = a.readFailure(ctx, rctx, err)
		f, ok := target.AsFailure(err)
		if !ok || rctx.Err() != nil || !begun || reading == maxReadings {
			return ans, err
		}
		retried(f)
	}
}

// addUse adds the use of a call to an answer.
func addUse(ans *target.Answer, resp llm.Response) {
	u := ans.Actor
	u.Attempts += resp.Attempts
	u.Usage.InputTokens += resp.Usage.InputTokens
	u.Usage.OutputTokens += resp.Usage.OutputTokens
	u.Estimated = u.Estimated || resp.Usage.Estimated
	u.USD += resp.Cost
	u.Cached, u.SavedUSD = resp.Cached, u.SavedUSD.Plus(resp.SavedUSD)
}

// complete fills an answer from a finished reply, without its thoughts. A reply that was
// withheld or cut off before its first word is a failure: it says nothing about the memory.
func complete(ans *target.Answer, resp llm.Response) error {
	ans.Answer, ans.Model = llm.AfterThoughts(resp.Text), resp.Model
	ans.Usage = &protocol.Usage{
		InputTokens: resp.Usage.InputTokens, OutputTokens: resp.Usage.OutputTokens,
	}
	ans.Actor.Model, ans.Actor.FinishReason = resp.Model, resp.FinishReason
	if strings.TrimSpace(ans.Answer) != "" {
		return nil
	}
	switch {
	case resp.Cut():
		return target.NewFailure(result.KindReader, fmt.Sprintf(
			"model %q used up all %d tokens of output without an answer; choose a model that "+
				"reasons less", resp.Model, resp.Usage.OutputTokens))
	case resp.FinishReason == "content_filter":
		return target.NewFailure(result.KindReader, fmt.Sprintf(
			"the provider of model %q withheld the answer (content_filter)", resp.Model))
	}
	return nil
}

// readFailure converts the error of a call to a failure of the question or an error that stops the
// run.
func (a *Actor) readFailure(ctx, rctx context.Context, err error) error {
	e, failed := errors.AsType[*llm.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case rctx.Err() != nil:
		return a.timedOut(context.Cause(rctx))
	case !failed:
		return fmt.Errorf("model %q cannot answer: %w", a.cfg.Model, err)
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
		return fmt.Errorf("model %q answers no question: %w", a.cfg.Model, err)
	}
	return readerFailure(e)
}

func readerFailure(e *llm.Error) *target.Failure {
	return target.NewFailure(result.KindReader, e.Error())
}

func (a *Actor) timedOut(err error) error {
	return target.NewFailure(result.KindReader, fmt.Sprintf("model %q: %v", a.cfg.Model, err))
}
