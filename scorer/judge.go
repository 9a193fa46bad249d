package scorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"evalctl/internal/llm"
)

const (
	// judgeName is the name of the scorer with the default prompts.
	judgeName = "judge"

	// maxCandidate is how many characters of an answer the judge reads. A longer answer is cut and
	// marked as cut, for the judge and in the verdict's reason.
	maxCandidate = 100_000

	replyTokens = 300
	// Reasoning models spend most of their tokens before the reply. The limit may be raised twice.
	reasoningTokens = 4096
	longestTokens   = 16_384

	// judgeTimeout limits one request, which a provider could otherwise keep open for ever by
	// sending a byte at a time.
	judgeTimeout = 5 * time.Minute

	// noReply replaces an empty reply in the repair request, because providers reject an empty
	// assistant message.
	noReply = "(empty reply)"
)

// ErrUnusable means that the limit on consecutive unusable verdicts was reached.
var ErrUnusable = errors.New("the judge gives no usable verdicts")

// Judge asks a language model how well an answer agrees with the reference. It is safe for
// concurrent use if its provider is.
type Judge struct {
	provider llm.Provider
	model    string
	prompts  Prompts   // of all items, or for TypeStandard
	byType   PromptSet // nil if all items have the same prompts
	timeout  time.Duration
	// temperature is from 0 to 2.
	temperature float64
	options     llm.Options
	// tokens is the output limit that the model has proved to need, 0 before.
	tokens atomic.Int64
	// first is held by the first request, which alone finds out how to ask the model. known is
	// closed when that request ends. If it failed, the other requests find out concurrently, so
	// that an outage does not hold them one after another.
	first atomic.Bool
	known chan struct{}

	// maxUnusable limits consecutive unusable verdicts, 0 for no limit; inRow counts them.
	maxUnusable int64
	inRow       atomic.Int64

	answered atomic.Bool  // some request was
	refused  atomic.Int64 // items rejected before any request was answered
}

// maxRefused is how many items a provider may reject with 400 before it has answered any. Beyond
// that, the items are not the cause.
const maxRefused = 3

// NewJudge returns a judge. If the provider is a *llm.Meter, the judge stays within its budget and
// verdicts have a cost.
func NewJudge(p llm.Provider, model string, prompts Prompts) (*Judge, error) {
	if p == nil || model == "" {
		return nil, errors.New("the judge needs a model: set SVC_EVAL_JUDGE_MODEL or SVC_LLM_MODEL")
	}
	if err := prompts.check(); err != nil {
		return nil, err
	}
	return &Judge{provider: p, model: model, prompts: prompts, timeout: judgeTimeout, known: make(chan struct{})}, nil
}

// NewTyped returns a judge with prompts by item type. byType must have prompts for exactly the
// types of Types.
func NewTyped(p llm.Provider, model string, byType PromptSet) (*Judge, error) {
	if err := byType.check(); err != nil {
		return nil, err
	}
	j, err := NewJudge(p, model, byType[TypeStandard])
	if err != nil {
		return nil, err
	}
	j.byType = byType
	return j, nil
}

// LimitUnusable makes Score return ErrUnusable from the n-th consecutive unusable verdict until a
// usable one. Verdicts are counted in the order in which judgements end. 0 means no limit. Call it
// before Score.
func (j *Judge) LimitUnusable(n int) { j.maxUnusable = int64(n) }

// SetTemperature sets the temperature of requests, 0 by default. Call it before Score.
func (j *Judge) SetTemperature(t float64) { j.temperature = t }

// SetOptions sets how the model is asked instead of finding out. A temperature in o overrides
// SetTemperature. Call it before Score.
func (j *Judge) SetOptions(o llm.Options) {
	j.options = o
	if t, ok := o.Degrees(); ok {
		j.temperature = t
	}
}

// Name returns the scorer name in the judge's prompts, "judge" by default.
func (j *Judge) Name() string { return cmp.Or(j.prompts.Scorer, judgeName) }

// promptsFor returns the prompts for an item that Check accepts.
func (j *Judge) promptsFor(item Item) Prompts {
	if j.byType == nil {
		return j.prompts
	}
	return j.byType[cmp.Or(item.Type, TypeStandard)]
}

// Check rejects an item without a reference answer or with a type that has no prompts.
func (j *Judge) Check(item Item) error {
	if item.Type != "" && j.byType != nil && j.byType[item.Type].Name == "" {
		return fmt.Errorf("question %q is of type %q, for which the judge has no prompts: it must be one of %s",
			item.ID, item.Type, strings.Join(types, ", "))
	}
	if strings.TrimSpace(item.Reference) == "" {
		return fmt.Errorf("question %q has no reference_answer: add one, or use the %s scorer", item.ID,
			item.insteadOf("exact", len(item.Expected) > 0))
	}
	return nil
}

// Request returns the first request for an item, for cost forecasts. If the reply has no verdict,
// one more request follows, which includes that reply. If the reply is cut off, the request is
// repeated at most twice with a higher output limit. Each request times out after five minutes.
func (j *Judge) Request(item Item) llm.Request {
	item.Answer = truncate(item.Answer)
	prompts := j.promptsFor(item)
	r := llm.Request{
		Model: j.model,
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: prompts.System},
			{Role: llm.RoleUser, Content: prompts.User(item)},
		},
		Temperature: j.temperature,
		MaxTokens:   max(replyTokens, int(j.tokens.Load())),
		Options:     j.options,
		Attempt:     max(0, item.Repeat-1),
		JSON:        prompts.Labels == nil || prompts.Labels.Key != "",
		Timeout:     j.timeout,
		Fake:        func() string { return prompts.fakeReply(item) },
	}
	if llm.IsReasoningModel(j.model) {
		r.MaxTokens = max(r.MaxTokens, reasoningTokens)
	}
	if j.options.MaxTokens > 0 {
		r.MaxTokens = j.options.MaxTokens
	} else {
		// Earlier items decide which of these a judge uses.
		r.Limits = []int{replyTokens, reasoningTokens, longestTokens}
	}
	return r
}

// Score asks the model, and once more if the reply has no verdict or several. It accepts a score
// only in the requested form. It returns an error for an item that Check rejects; when a context
// ends or a budget is exhausted; when the provider rejects the key or the model (401, 403, 404), or
// rejects a third item with 400 before it has answered any; and ErrUnusable (see LimitUnusable).
// Any other 400 leaves the item unscored, since the item may be too long for the model.
func (j *Judge) Score(ctx context.Context, item Item) (Verdict, error) {
	if err := j.Check(item); err != nil {
		return Verdict{}, err
	}
	var v Verdict
	req := j.Request(item)
	prompts := j.promptsFor(item)
	parse := func(text string) (grade, error) { return prompts.parse(text, item) }
	text, problem, err := j.askWhole(ctx, &req, parse, &v)
	if err == nil && problem != nil && !errors.As(problem, new(cutError)) {
		if strings.TrimSpace(text) == "" {
			text = noReply
		}
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Content: text},
			llm.Message{Role: llm.RoleUser, Content: prompts.repair(problem)})
		_, problem, err = j.askWhole(ctx, &req, parse, &v)
	}
	switch {
	case err != nil && j.isFatal(err):
		return v.unscored(), fmt.Errorf("judge question %q: %w", item.ID, err)
	case err != nil:
		v.Reason, v.Unanswered = "the judge did not answer: "+err.Error(), isOutage(err)
	case problem != nil:
		v.Reason = "the judge gave no usable verdict: " + problem.Error()
	}
	if err := j.countUnusable(item, v); err != nil {
		return v.unscored(), err
	}
	if n := utf8.RuneCountInString(item.Answer); n > maxCandidate {
		v.Reason = fmt.Sprintf("(judged on the first %d of %d characters) %s", maxCandidate, n, v.Reason)
	}
	return v, nil
}

// countUnusable counts consecutive unusable verdicts and returns ErrUnusable at the limit.
func (j *Judge) countUnusable(item Item, v Verdict) error {
	if v.Scored {
		j.inRow.Store(0)
		return nil
	}
	n := j.inRow.Add(1)
	if j.maxUnusable == 0 || n < j.maxUnusable {
		return nil
	}
	return fmt.Errorf("%w: %d in a row of model %q, the last for question %q: %s; try the model with "+
		"evalctl judge check, use another one, or allow more with --max-unusable (0: any number)",
		ErrUnusable, n, j.model, item.ID, v.Reason)
}

// parser parses a reply.
type parser func(text string) (grade, error)

// cutError means that a reply was cut off.
type cutError struct {
	tokens int
	// refused is the error for a higher limit, nil if none was requested.
	refused error
}

func (e cutError) Error() string {
	text := fmt.Sprintf("it was cut at %d tokens; allow more with --judge-option max_tokens=N", e.tokens)
	if e.refused != nil {
		text += ": " + e.refused.Error()
	}
	return text
}

// askWhole is ask, repeated with a higher output limit while the reply is cut off. The limit then
// stays for this and later items.
func (j *Judge) askWhole(ctx context.Context, req *llm.Request, parse parser, v *Verdict) (text string, problem, err error) {
	text, problem, err = j.askFirst(ctx, *req, parse, v)
	for errors.As(problem, new(cutError)) && err == nil && j.options.MaxTokens == 0 && req.MaxTokens < longestTokens {
		more := *req
		more.MaxTokens = reasoningTokens
		if req.MaxTokens >= reasoningTokens {
			more.MaxTokens = longestTokens
		}
		next, nextProblem, err := j.ask(ctx, more, parse, v)
		if e, ok := errors.AsType[*llm.Error](err); ok && !isOutage(e) {
			return text, cutError{req.MaxTokens, err}, nil
		}
		if err != nil {
			return text, problem, err
		}
		*req, text, problem = more, next, nextProblem
		if problem == nil {
			j.tokens.Store(max(j.tokens.Load(), int64(req.MaxTokens)))
		}
	}
	return text, problem, err
}

// askFirst is ask, but waits for the judge's first request.
func (j *Judge) askFirst(ctx context.Context, req llm.Request, parse parser, v *Verdict) (text string, problem, err error) {
	if j.first.CompareAndSwap(false, true) {
		defer close(j.known)
		return j.ask(ctx, req, parse, v)
	}
	select {
	case <-j.known:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	return j.ask(ctx, req, parse, v)
}

// ask makes one request and fills in the verdict. problem describes an unusable reply.
func (j *Judge) ask(ctx context.Context, req llm.Request, parse parser, v *Verdict) (text string, problem, err error) {
	resp, err := j.provider.Complete(ctx, req)
	v.Attempts += resp.Attempts
	v.Cached = resp.Cached && v.Attempts == 0
	v.Saved = v.Saved.Plus(resp.SavedUSD)
	v.Cost = v.Cost.Plus(resp.Cost)
	if !resp.Cached {
		v.Usage = v.Usage.Plus(resp.Usage)
	}
	if err != nil {
		return "", nil, err
	}
	j.answered.Store(true)
	v.Model = resp.Model
	if resp.Asked != (llm.Manner{}) && !resp.Asked.Usual {
		v.Asked = resp.Asked.String()
	}
	switch {
	case resp.Cut():
		return resp.Text, cutError{tokens: req.MaxTokens}, nil
	case resp.FinishReason == "content_filter":
		return resp.Text, errors.New("the provider's content filter held it back"), nil
	}
	if resp.Refusal != "" {
		return "", fmt.Errorf("the model refuses: %.200q", resp.Refusal), nil
	}
	g, problem := parse(resp.Text)
	if problem == nil {
		v.Score, v.Scored, v.Reason = g.score, true, g.reason
	}
	return resp.Text, problem, nil
}

// isOutage reports whether a non-fatal error is caused by the provider rather than the item.
func isOutage(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge &&
		e.Status != http.StatusUnprocessableEntity
}

// isFatal reports whether every further item would fail too. This includes errors that do not come
// from the provider, such as an exhausted budget, an ended context or a bad configuration.
func (j *Judge) isFatal(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return true
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return true
	case http.StatusBadRequest:
		return !j.answered.Load() && j.refused.Add(1) >= maxRefused
	}
	return false
}
