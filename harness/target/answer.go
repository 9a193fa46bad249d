package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
	"evalctl/internal/sse"
)

// CheckQuestion returns an error for a question that may not be sent (spec 8): one without text,
// and one that is longer than 8,192 characters to ask or 4,096 to search.
func CheckQuestion(s result.Scenario, q dataset.Question) error {
	most := protocol.MaxAskQuery
	if s == result.SearchOnly {
		most = protocol.MaxSearchQuery
	}
	n := utf8.RuneCountInString(q.Question)
	switch {
	case strings.TrimSpace(q.Question) == "":
		return fmt.Errorf("question %q has no text", q.ID)
	case n > most:
		return fmt.Errorf("question %q has %d characters and the protocol's limit is %d; shorten it, or leave it out", q.ID, n, most)
	}
	return nil
}

// maxAnswer bounds the text and the citations that one answer may accumulate,
// in bytes.
const maxAnswer = 16 << 20

// streams are readers with their buffers, for the next question.
var streams = sync.Pool{New: func() any { return sse.NewReader(nil, sse.MaxEvent) }}

// Answer is what a daemon made of one question. For SearchOnly Text is the
// retrieved texts joined by newlines. Citations are the daemon's own objects.
type Answer struct {
	Text          string
	Citations     []json.RawMessage
	Retrieved     []result.Chunk
	EffectiveMode string
	Model         string
	// PromptSHA256 identifies the reader's prompt, where the daemon tells.
	PromptSHA256 string
	Usage        *protocol.Usage
	Latency      time.Duration
	// FirstDelta is the time to the first text, 0 when none was streamed.
	FirstDelta time.Duration
	Attempts   int
}

// Target asks one daemon's brains in one scenario. It is safe for concurrent
// use.
type Target struct {
	Endpoint *Endpoint
	// Brains has the daemon's ids of the brains by the name that questions have
	// for them.
	Brains     map[string]string
	Scenario   result.Scenario
	Mode       string
	TopK       int
	CandidateK int
	RerankTopN int
	Dialect    result.Dialect
}

// once makes one attempt. When err is a *Failure the answer holds what had
// arrived.
func (t *Target) once(ctx context.Context, q dataset.Question) (Answer, error) {
	start := time.Now()
	var a Answer
	var err error
	if t.Scenario == result.SearchOnly {
		err = t.search(ctx, q, &a)
	} else {
		err = t.ask(ctx, q, &a, start)
	}
	a.Text = t.Endpoint.redactor.Text(a.Text) // deltas may have cut the token up
	if a.Latency == 0 {
		a.Latency = time.Since(start)
	}
	return a, err
}

// path is the address of the brain that q is asked in.
func (t *Target) path(q dataset.Question) string { return brainPath(t.Brains[q.Brain]) }

func (t *Target) body(q dataset.Question) body {
	b := body{"top_k": t.TopK, "mode": t.Mode}
	if q.QuestionDate != "" {
		b["question_date"] = q.QuestionDate
	}
	return b
}

func (t *Target) search(ctx context.Context, q dataset.Question, a *Answer) error {
	b := t.body(q)
	b["query"] = q.Question
	if t.CandidateK > 0 {
		b["candidate_k"] = t.CandidateK
	}
	if t.RerankTopN > 0 {
		b["rerank_top_n"] = t.RerankTopN
	}
	o, err := t.Endpoint.json(ctx, request{
		method: "POST", path: t.path(q) + "/search",
		contentType: protocol.TypeJSON, body: encode(t.Dialect, b, nil),
	})
	if err != nil {
		return err
	}
	if a.Retrieved, err = chunksOf(o, "chunks", "hits"); err != nil {
		return newFailure(result.KindProtocol, "POST search: "+err.Error())
	}
	a.EffectiveMode = effectiveMode(o)
	texts := make([]string, len(a.Retrieved))
	for i, c := range a.Retrieved {
		texts[i] = c.Text
	}
	a.Text = strings.Join(texts, "\n")
	return nil
}

func (t *Target) ask(ctx context.Context, q dataset.Question, a *Answer, start time.Time) error {
	b := t.body(q)
	b["question"] = q.Question
	b["reader_mode"] = strings.TrimPrefix(string(t.Scenario), "ask-")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := t.Endpoint.do(ctx, request{
		method: "POST", path: t.path(q) + "/ask", contentType: protocol.TypeJSON,
		accept: protocol.TypeEvents, body: encode(t.Dialect, b, map[string][]string{"question": {"query"}}),
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, protocol.TypeEvents) {
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return newFailure(result.KindProtocol, fmt.Sprintf("POST ask answered %q instead of %s: %s", ct, protocol.TypeEvents, Clip(data)))
	}
	stream := streams.Get().(*sse.Reader)
	stream.Reset(res.Body)
	err = readAnswer(ctx, stream, a, start)
	streams.Put(stream)
	if err != nil {
		return err
	}
	a.Latency = time.Since(start)
	// Reading to the end lets the connection be used again; a daemon that
	// keeps the stream open after done is not waited for.
	stop := time.AfterFunc(50*time.Millisecond, cancel)
	defer stop.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return nil
}

// readAnswer folds an ask stream into a, up to and with its done event.
func readAnswer(ctx context.Context, r *sse.Reader, a *Answer, start time.Time) error {
	var text strings.Builder
	var whole *string
	defer func() {
		if whole == nil {
			s := text.String()
			whole = &s
		}
		a.Text = *whole
	}()
	a.Retrieved, a.Citations = []result.Chunk{}, []json.RawMessage{}
	kept, retrieved := 0, false
	for {
		ev, err := r.Next()
		if err != nil {
			return streamEnd(ctx, err, text.Len())
		}
		o, known, err := decodeEvent(ev)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		switch ev.Name {
		case protocol.EventRetrieve:
			if retrieved {
				continue // a stream has one (spec 2), and the answer was begun with it
			}
			retrieved = true
			if a.Retrieved, err = chunksOf(o, "chunks"); err != nil {
				return newFailure(result.KindProtocol, "retrieve event: "+err.Error())
			}
			a.EffectiveMode = effectiveMode(o)
		case protocol.EventDelta, "token":
			delta := o.Text("delta", "text", "content", "token")
			if a.FirstDelta == 0 && delta != "" {
				a.FirstDelta = time.Since(start)
			}
			kept += len(delta)
			text.WriteString(delta)
		case protocol.EventCitation:
			kept += len(ev.Data)
			a.Citations = append(a.Citations, bytes.ToValidUTF8(bytes.Clone(ev.Data), []byte("\ufffd")))
		case protocol.EventError:
			return newFailure(result.KindDaemon, "error event: "+errorText(o))
		case protocol.EventDone:
			whole, err = a.finish(o)
			return err
		}
		if kept > maxAnswer {
			return newFailure(result.KindProtocol, fmt.Sprintf("the answer is longer than %d MiB", maxAnswer>>20))
		}
	}
}

// decodeEvent reads the payload of the events that matter; others are not
// known and may hold anything.
func decodeEvent(ev sse.Event) (o jsonobj.Object, known bool, err error) {
	switch ev.Name {
	case protocol.EventRetrieve, protocol.EventDelta, "token", protocol.EventCitation, protocol.EventDone, protocol.EventError:
	default:
		return nil, false, nil
	}
	o, err = jsonobj.Parse(ev.Data)
	switch {
	case err != nil && ev.Name == protocol.EventError:
		return jsonobj.Object{{Key: "message", Value: encodeString(ev.Data)}}, true, nil
	case err != nil:
		return nil, true, newFailure(result.KindProtocol, fmt.Sprintf("%s event is not a JSON object: %s", ev.Name, Clip(ev.Data)))
	}
	return o, true, nil
}

func encodeString(b []byte) json.RawMessage {
	data, _ := json.Marshal(string(b)) // strings always encode
	return data
}

// finish takes the done event. whole is the answer that it gives, which
// replaces what was streamed even when it is empty; nil when it gives none.
func (a *Answer) finish(done jsonobj.Object) (whole *string, err error) {
	if string(done.Get("ok")) == "false" {
		return nil, newFailure(result.KindDaemon, "done event with ok false: "+errorText(done))
	}
	if text, ok := jsonobj.String(done.Get("answer")); ok {
		whole = &text
	}
	a.Model, a.PromptSHA256 = done.Text("model"), done.Text("prompt_sha256", "promptSha256")
	if u := done.Object("usage"); u != nil {
		a.Usage = &protocol.Usage{
			InputTokens:  tokens(u, "input_tokens", "inputTokens", "prompt_tokens"),
			OutputTokens: tokens(u, "output_tokens", "outputTokens", "completion_tokens"),
		}
	}
	return whole, nil
}

func streamEnd(ctx context.Context, err error, got int) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sse.ErrTooLarge):
		return newFailure(result.KindProtocol, err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Failure: result.Failure{Kind: result.KindIncomplete, Message: fmt.Sprintf("the stream ended without done, after %d bytes of answer", got)}, retry: true}
	default:
		return &Failure{Failure: result.Failure{Kind: result.KindTransport, Message: "read stream: " + err.Error()}, retry: true}
	}
}
