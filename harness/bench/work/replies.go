package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/bench/load"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/intake"
	"evalctl/internal/jsonobj"
	"evalctl/internal/llm"
	"evalctl/internal/printable"
	"evalctl/internal/sse"
)

// A generator that reads replies as an evaluation does is slower than many daemons. Most replies
// are therefore only checked for their form, and one in readEvery is read completely.
const readEvery = 16

// shown limits how much of an event an error quotes.
const shown = 300

// maxReply limits a reply, as target does.
const maxReply = 64 << 20

// query is a query with its request bodies.
type query struct {
	text        string
	search, ask []byte
}

func newQuery(c Config, text string) query {
	body := map[string]any{"query": text, "top_k": c.TopK, "mode": c.Mode}
	q := query{text: text, search: target.Encode(c.Dialect, body, nil)}
	delete(body, "query")
	body["question"], body["reader_mode"] = text, protocol.ReaderBasic
	q.ask = target.Encode(c.Dialect, body, map[string][]string{"question": {"query"}})
	return q
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// search sends a search. If whole is set, the reply is read as in an evaluation; otherwise only its
// first and last byte are checked to be braces.
func search(ctx context.Context, e *target.Endpoint, brain string, q query, whole bool) (o load.Outcome) {
	res, err := e.Do(ctx, target.Request{
		Method: http.MethodPost, Path: target.BrainPath(brain) + "/search", ContentType: protocol.TypeJSON,
		Accept: protocol.TypeJSON, Body: q.search,
	})
	if err != nil {
		return load.Outcome{Err: err}
	}
	defer res.Body.Close()
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	body := intake.NewReader(ctx, io.NopCloser(res.Body), maxReply+1)
	defer body.Close()
	o.Bytes, err = b.ReadFrom(body)
	text := bytes.TrimSpace(b.Bytes())
	switch {
	case err != nil:
		o.Err = broken(ctx, err)
	case o.Bytes > maxReply:
		o.Err = target.NewFailure(result.KindProtocol, fmt.Sprintf("the reply is longer than %d MiB", maxReply>>20))
	case len(text) == 0 || text[0] != '{' || text[len(text)-1] != '}':
		o.Err = target.NewFailure(result.KindProtocol, "the reply to a search is not a JSON object")
	case whole:
		o.Ended = time.Now()
		var reply jsonobj.Object
		if reply, err = jsonobj.Parse(text); err == nil {
			_, err = target.SearchChunks(reply)
		}
		if err != nil {
			o.Err = target.NewFailure(result.KindProtocol, "the reply to a search: "+err.Error())
		}
	}
	return o
}

// broken returns the error for a reply that ended early.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return target.NewFailure(result.KindTransport, "read reply: "+err.Error())
}

var streams = sync.Pool{New: func() any { return sse.NewReader(nil, sse.MaxEvent) }}

// ask asks and reads the stream to its end. If whole is set, all events are parsed, otherwise only
// the last one.
func ask(ctx context.Context, e *target.Endpoint, brain string, q query, prices llm.Prices, whole bool) (o load.Outcome) {
	start := time.Now()
	res, err := e.Do(ctx, target.Request{
		Method: http.MethodPost, Path: target.BrainPath(brain) + "/ask", ContentType: protocol.TypeJSON,
		Accept: protocol.TypeEvents, Body: q.ask,
	})
	if err != nil {
		return load.Outcome{Err: err}
	}
	defer res.Body.Close()
	if !protocol.IsEvents(res.Header.Get("Content-Type")) {
		return load.Outcome{Err: target.NewFailure(result.KindProtocol, "the reply to an ask is not an event stream")}
	}
	stream := streams.Get().(*sse.Reader)
	defer streams.Put(stream)
	body := intake.NewReader(ctx, io.NopCloser(res.Body), intake.Largest)
	defer body.Close()
	stream.Reset(body)
	var last time.Duration
	for {
		ev, err := stream.Next()
		if err != nil {
			o.Err = endOf(ctx, err)
			return o
		}
		o.Bytes += int64(len(ev.Data))
		if whole && !json.Valid(ev.Data) {
			o.Err = target.NewFailure(result.KindProtocol, ev.Name+" event is not JSON: "+printable.Line(string(ev.Data), shown))
			return o
		}
		switch ev.Name {
		case protocol.EventDelta, "token":
			came := time.Since(start)
			if last == 0 {
				o.FirstDelta = came
			} else {
				o.Gaps = append(o.Gaps, came-last)
			}
			last = came
		case protocol.EventError:
			o.Err = target.NewFailure(result.KindDaemon, "error event: "+printable.Line(string(ev.Data), shown))
			return o
		case protocol.EventDone:
			if o.FirstDelta > 0 {
				o.Stream = time.Since(start) - o.FirstDelta
			}
			o.Ended = time.Now()
			o.Err = done(&o, ev.Data, prices)
			// Reading to the end allows the connection to be reused. Do not wait for a daemon that
			// keeps the stream open.
			stop := time.AfterFunc(50*time.Millisecond, func() { _ = res.Body.Close() })
			defer stop.Stop()
			_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
			return o
		}
	}
}

// endOf returns the error for a stream that ended before its last event.
func endOf(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return target.NewFailure(result.KindIncomplete, "the stream ended before its done event")
	}
	return broken(ctx, err)
}

// done parses the last event of a stream.
func done(o *load.Outcome, data []byte, prices llm.Prices) error {
	d, err := jsonobj.Parse(data)
	if err != nil {
		return target.NewFailure(result.KindProtocol, "the done event is not a JSON object")
	}
	if string(d.Get("ok")) == "false" {
		return target.NewFailure(result.KindDaemon, "done event with ok false: "+printable.Line(string(data), shown))
	}
	if u := d.Object("usage"); u != nil {
		in, err := u.Number("input_tokens", "inputTokens", "prompt_tokens")
		out, errOut := u.Number("output_tokens", "outputTokens", "completion_tokens")
		if err != nil || errOut != nil || min(in, out) < 0 {
			return target.NewFailure(result.KindProtocol, "the usage in the done event cannot be: "+printable.Line(string(data), shown))
		}
		o.InputTokens, o.OutputTokens = int64(in), int64(out)
		if price, ok := prices.Of(llm.ProviderOpenAI, d.Text("model")); ok {
			o.Priced = true
			o.CostNanoUSD = int64(price.Cost(llm.Usage{InputTokens: int(o.InputTokens), OutputTokens: int(o.OutputTokens)}))
		}
	}
	return nil
}
