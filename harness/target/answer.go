package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/jsonobj"
	"evalctl/internal/redact"
	"evalctl/internal/sse"
)

const (
	// maxAnswer limits the total size of an answer's text and citations, in bytes.
	maxAnswer = 16 << 20
	// maxCitations limits the citations of an answer, and maxEvents its stored events.
	maxCitations, maxEvents = 10_000, 100_000
)

// streams are readers with reusable buffers.
var streams = sync.Pool{New: func() any { return sse.NewReader(nil, sse.MaxEvent) }}

// Answer is a service's answer to one question. For SearchOnly, its text is the retrieved texts
// joined by newlines. Citations are the daemon's own objects. The times in milliseconds of its
// record are derived from the fields below.
type Answer struct {
	result.Reply
	// Latency is the duration of the answering attempt, or of the last attempt if none answered.
	Latency time.Duration
	// Waited is the time that the caller waited before that attempt: earlier attempts, and pauses
	// for Retry-After, backoff or rate limits. Latency plus Waited is the time from the question to
	// its answer.
	Waited time.Duration
	// FirstDelta is the time from the start of the answering attempt to its first text, 0 without
	// streaming.
	FirstDelta time.Duration
	// Search is the part of Latency spent in the daemon's search, if the daemon did not write the
	// answer.
	Search time.Duration

	// Lacks names an operation required before the question that the service lacks. The question
	// was then not asked.
	Lacks string
	// NoPassages is set if the service does not report the passages behind an answer, so that
	// retrieval is unknown.
	NoPassages bool
	// Events are the last attempt's stream events that are not stored elsewhere: retrieval, end,
	// and events unknown to the protocol. They are nil unless the question has forbidden texts.
	Events []Event

	spelled spellings
	listens bool // Events are kept
}

// Event is a stream event as sent by the service.
type Event struct {
	Name string
	Data []byte
}

// Target asks the brains of one service in one scenario. It is safe for concurrent use.
type Target struct {
	Service Service
	// Brains maps brain names in questions to the service's ids.
	Brains     map[string]string
	Scenario   result.Scenario
	Mode       string
	TopK       int
	CandidateK int
	RerankTopN int
	// MaxPerDocument is sent unless it is nil.
	MaxPerDocument *int
	Dialect        result.Dialect
}

// Health returns an error unless the service is alive (see Service.Health).
func (t *Target) Health(ctx context.Context) error {
	_, err := t.Service.Health(ctx)
	return err
}

// once makes one attempt, see Service.Answer.
func (t *Target) once(ctx context.Context, q dataset.Question) (Answer, error) {
	start := time.Now()
	a, err := t.Service.Answer(ctx, t, q)
	if a.Latency == 0 {
		a.Latency = time.Since(start)
	}
	return a, err
}

// Answer implements Service.
func (e *Endpoint) Answer(ctx context.Context, t *Target, q dataset.Question) (a Answer, err error) {
	a.listens = len(q.Forbidden) > 0
	scenario, err := ScenarioOf(t.Scenario)
	if err == nil {
		err = scenario.exchange(ctx, e, scenario.request(t, q), &a, time.Now())
	}
	if !t.Scenario.Reads() {
		a.cut(t.TopK)
	}
	e.spelled.Or(uint32(a.spelled))
	// Redact the whole answer: a secret may be split between deltas, or hidden by JSON escapes.
	return redact.Values(e.redactor, a), e.redactor.Error(err)
}

// Lacks implements Service. A daemon's abilities become known only when it is asked.
func (e *Endpoint) Lacks(Ability) string { return "" }

// search sends a search and reads the retrieved chunks into a.
func search(ctx context.Context, e *Endpoint, r Request, a *Answer, _ time.Time) error {
	o, err := e.Object(ctx, r)
	if err != nil {
		return err
	}
	if a.Retrieved, err = SearchChunks(o); err != nil {
		return err
	}
	a.EffectiveMode, a.Fusion = effectiveMode(o), fusion(o)
	a.spelled |= spellingsOf(o, "chunks", "hits")
	return nil
}

// cut keeps the first topK passages as the answer to a search.
func (a *Answer) cut(topK int) {
	if len(a.Retrieved) > topK {
		a.Retrieved = a.Retrieved[:topK]
	}
	texts := make([]string, len(a.Retrieved))
	for i, c := range a.Retrieved {
		texts[i] = c.Text
	}
	a.Answer = strings.Join(texts, "\n")
}

// ask sends a question and reads the stream of its answer into a.
func ask(ctx context.Context, e *Endpoint, r Request, a *Answer, start time.Time) error {
	r.Accept = protocol.TypeEvents
	res, err := e.Do(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	ct := res.Header.Get("Content-Type")
	if !protocol.IsEvents(ct) {
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxShape))
		return notEvents(ct, data)
	}
	body := intake.NewReader(ctx, io.NopCloser(res.Body), intake.Largest)
	defer body.Close()
	stream := streams.Get().(*sse.Reader)
	stream.Reset(body)
	err = readAnswer(ctx, stream, a, start)
	streams.Put(stream)
	if err != nil {
		return err
	}
	a.Latency = time.Since(start)
	// Reading to the end allows the connection to be reused. Do not wait for a daemon that keeps
	// the stream open after done.
	stop := time.AfterFunc(50*time.Millisecond, func() { _ = res.Body.Close() })
	defer stop.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return nil
}

// readAnswer reads an ask stream into a, up to and including its done event.
func readAnswer(ctx context.Context, r *sse.Reader, a *Answer, start time.Time) error {
	var text strings.Builder
	var pieces jsonobj.Pieces
	var whole *string
	defer func() {
		if whole == nil {
			s := text.String() + pieces.Rest()
			whole = &s
		}
		a.Answer = *whole
	}()
	a.Citations = []json.RawMessage{}
	kept, retrieved := 0, false
	var o jsonobj.Object // of one event at a time
	var others otherEvents
	for {
		ev, err := r.Next()
		if err != nil {
			return streamEnd(ctx, err, text.Len(), a.Timeline, others)
		}
		came := time.Since(start)
		var known bool
		o, known, err = decodeEvent(o, ev)
		kept += a.listen(ev)
		if !known {
			a.Timeline.Add(result.OtherEvent, came)
			if others.add(ev) && text.Len() == 0 && !retrieved {
				return others.failure()
			}
			continue
		}
		a.Timeline.Add(ev.Name, came)
		if err != nil {
			return err
		}
		switch ev.Name {
		case protocol.EventRetrieve:
			if retrieved {
				continue // a stream has one (spec 2), and the answer is based on it
			}
			retrieved = true
			if a.Retrieved, err = Chunks(o, "chunks"); err != nil {
				return NewFailure(result.KindProtocol, "retrieve event: "+err.Error())
			}
			if err := incomplete(o); err != nil {
				return err
			}
			a.EffectiveMode, a.Fusion = effectiveMode(o), fusion(o)
			a.spelled |= spellingsOf(o, "chunks")
		case protocol.EventDelta, "token":
			delta := pieces.Next(o.First("delta", "text", "content", "token"))
			if a.FirstDelta == 0 && delta != "" {
				a.FirstDelta = came
			}
			kept += len(delta)
			text.WriteString(delta)
		case protocol.EventCitation:
			kept += len(ev.Data)
			a.Citations = append(a.Citations, bytes.ToValidUTF8(bytes.Clone(ev.Data), []byte("\ufffd")))
		case protocol.EventError:
			return NewFailure(result.KindDaemon, "error event: "+errorText(o))
		case protocol.EventDone:
			if a.Retrieved == nil {
				a.Retrieved = []result.Chunk{}
			}
			whole, err = a.finish(o)
			return err
		}
		switch {
		case kept > maxAnswer:
			return NewFailure(result.KindProtocol, fmt.Sprintf("the answer is longer than %d MiB", maxAnswer>>20))
		case len(a.Citations) > maxCitations:
			return NewFailure(result.KindProtocol, fmt.Sprintf("the answer has more than %d citations", maxCitations))
		case len(a.Events) > maxEvents:
			return NewFailure(result.KindProtocol, fmt.Sprintf("the stream has more than %d events to look for forbidden texts in", maxEvents))
		}
	}
}

// listen stores an event that is not stored elsewhere, and returns its size.
func (a *Answer) listen(ev sse.Event) int {
	switch ev.Name {
	case protocol.EventDelta, "token", protocol.EventCitation:
		return 0
	}
	if !a.listens {
		return 0
	}
	a.Events = append(a.Events, Event{Name: ev.Name, Data: bytes.Clone(ev.Data)})
	return len(ev.Data)
}

// decodeEvent parses the payload of a protocol event into o, overwriting its members. known is
// false for other events, which may contain anything.
func decodeEvent(o jsonobj.Object, ev sse.Event) (_ jsonobj.Object, known bool, err error) {
	switch ev.Name {
	case protocol.EventRetrieve, protocol.EventDelta, "token", protocol.EventCitation, protocol.EventDone, protocol.EventError:
	default:
		return o, false, nil
	}
	o, err = jsonobj.Append(o[:0], ev.Data)
	switch {
	case err != nil && ev.Name == protocol.EventError:
		return jsonobj.Object{{Key: []byte("message"), Value: encodeString(ev.Data)}}, true, nil
	case err != nil:
		return nil, true, NewFailure(result.KindProtocol, fmt.Sprintf("%s event is not a JSON object: %s", ev.Name, cmp.Or(clip(ev.Data), "it has no data")))
	}
	return o, true, nil
}

func encodeString(b []byte) json.RawMessage {
	data, _ := json.Marshal(string(b)) // strings always encode
	return data
}

// finish reads the done event. whole is the answer in it, nil if it has none. Even if empty, it
// replaces the streamed text.
func (a *Answer) finish(done jsonobj.Object) (whole *string, err error) {
	if string(done.Get("ok")) == "false" {
		why := cmp.Or(errorText(done), "it says no more")
		return nil, NewFailure(result.KindDaemon, "done event with ok false: "+why)
	}
	if text, ok := jsonobj.String(done.Get("answer")); ok {
		whole = &text
	}
	a.Model, a.PromptSHA256 = done.Text("model"), done.Text("prompt_sha256", "promptSha256")
	a.Usage = usageOf(done.Object("usage"))
	return whole, nil
}

// streamEnd returns the failure for a stream that ended with err before its done event, after the
// events in timeline and got bytes of answer.
func streamEnd(
	ctx context.Context, err error, got int, timeline result.Timeline, others otherEvents,
) error {
	switch {
	case errors.Is(err, intake.ErrWaited):
		return err // of the cause of ctx
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sse.ErrTooLarge), errors.Is(err, intake.ErrTooLarge), errors.Is(err, intake.ErrLimit), errors.Is(err, httpclient.ErrRatio):
		return NewFailure(result.KindProtocol, err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return withoutDone(err, got, timeline, others)
	default:
		return TransientFailure(result.KindTransport, "read stream: "+err.Error(), 0)
	}
}
