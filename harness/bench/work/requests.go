package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"evalctl/daemon/protocol"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// Config configures the requests.
type Config struct {
	Mix     []record.Share
	Seed    uint64
	TopK    int
	Mode    string
	Dialect result.Dialect
	// Client is how requests are sent to a daemon of the protocol: record.Direct or
	// record.Ordinary.
	Client string
	// Queries are for search, ask and recall. If empty, they are words drawn from documents.
	Queries []string
	// Documents are the documents of each brain, and Size their number.
	Documents Documents
	Size      int
	// Writer is in the paths and texts of the written documents, so that no other bench or target
	// writes the same ones.
	Writer string
	// Prices are for the answering models.
	Prices llm.Prices
}

// Requests generates the requests for one target. The service may be replaced while requests are
// sent, for example when a daemon is restarted.
type Requests struct {
	config  Config
	queries []query
	brains  []string // ids, the most popular first
	service atomic.Pointer[target.Service]
	own     *target.Endpoint // what the service is, if its connections belong to the requests
	// Written, if set, is called for every acknowledged write.
	Written func(Write)
}

// NewRequests returns requests to the brains of a service with these ids.
func NewRequests(c Config, s target.Service, brains []string) *Requests {
	if len(c.Queries) == 0 {
		c.Queries = drawQueries(c)
	}
	r := &Requests{config: c, brains: brains}
	for _, text := range c.Queries {
		r.queries = append(r.queries, newQuery(c, text))
	}
	r.Use(s)
	return r
}

// Use directs further requests to a service. It must not be called concurrently.
func (r *Requests) Use(s target.Service) {
	r.Close()
	if e, daemon := Wire(s); daemon && r.config.Client == record.Direct {
		r.own = e.Through(&direct{address: addressOf(e)})
		s = r.own
	}
	r.service.Store(&s)
}

// Close closes the idle connections of the requests, but not the service.
func (r *Requests) Close() {
	if r.own != nil {
		r.own.Close()
	}
}

// brainExponent is the Zipf exponent of the popularity of brains.
const brainExponent = 1.1

// Request implements load.Work.
func (r *Requests) Request(number uint64) load.Request {
	random := numbered(r.config.Seed, number)
	op := choose(r.config.Mix, random.Float64())
	brain := r.brains[zipf(random, brainExponent, len(r.brains))]
	var q query
	switch op {
	case Search, Ask, Recall:
		q = r.queries[random.IntN(len(r.queries))]
	}
	return load.Request{Op: op, Do: func(ctx context.Context) load.Outcome {
		o := r.do(target.WithoutRetries(ctx), *r.service.Load(), op, brain, q, number)
		if o.Err != nil {
			o.Kind = kindOf(ctx, o.Err)
		}
		return o
	}}
}

// drawn is the number of queries drawn from documents.
const drawn = 4096

// drawQueries returns queries of some words of a document each. A brain of unknown content gets the
// common query.
func drawQueries(c Config) []string {
	if c.Size == 0 {
		return []string{target.OwnQuery}
	}
	var out []string
	words := map[int][]string{} // of the documents: from a small brain, each is drawn often
	for i := range uint64(drawn) {
		random := numbered(c.Seed, ^i)
		n := random.IntN(c.Size)
		if _, read := words[n]; !read {
			words[n] = wordsOf(string(c.Documents(n).Data))
		}
		if q := queryFrom(random, words[n]); q != "" {
			out = append(out, q)
		}
	}
	if len(out) == 0 {
		out = []string{target.OwnQuery}
	}
	return out
}

// Kinds of errors that are not a failure of the target.
const (
	kindTimeout = "timeout"
	kindOther   = "other"
)

// kindOf returns an error's kind for counting, with the status if there is one.
func kindOf(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return kindTimeout
	}
	f, ok := target.AsFailure(err)
	switch {
	case !ok && errors.Is(err, target.ErrNoAnswer):
		return kindTimeout
	case !ok:
		return kindOther
	case f.Status > 0:
		return fmt.Sprintf("status %d", f.Status)
	}
	return string(f.Kind)
}

// do makes a request once without retries, because a user would have felt the failure.
func (r *Requests) do(ctx context.Context, s target.Service, op, brain string, q query, number uint64) (o load.Outcome) {
	switch op {
	case Search, Ask:
		e, daemon := Wire(s)
		whole := number%readEvery == 0
		switch {
		case !daemon:
			return r.answer(ctx, s, op, brain, q)
		case op == Ask:
			return ask(ctx, e, brain, q, r.config.Prices, whole)
		}
		return search(ctx, e, brain, q, whole)
	case Recall:
		e, _ := Wire(s) // or Has has left it out
		reply, err := e.Object(ctx, target.Request{
			Method: http.MethodPost, Path: target.BrainPath(brain) + "/sessions/" + sessionOf(number) + "/recall", ContentType: protocol.TypeJSON,
			Body: target.Encode(r.config.Dialect, map[string]any{"query": q.text, "top_k": r.config.TopK}, nil),
		})
		o.Err, o.Bytes = err, int64(len(reply.Get("chunks")))
		return o
	case Batch:
		docs := make([]dataset.Doc, batchDocs)
		for i := range docs {
			docs[i] = r.newDoc(number, i)
		}
		if e, daemon := Wire(s); daemon {
			o.Err = batch(ctx, e, brain, docs)
		} else {
			o.Err = s.Store(r.config.Dialect).Write(ctx, brain, docs, 1)
		}
		r.acknowledge(o.Err, brain, number, len(docs))
		return o
	}
	doc := r.newDoc(number, 0)
	o.Bytes = int64(len(doc.Data))
	switch e, daemon := Wire(s); {
	case !daemon: // which has nothing but documents
		o.Err = s.Store(r.config.Dialect).Write(ctx, brain, []dataset.Doc{doc}, 1)
	case op == Ingest:
		_, o.Err = e.Create(ctx, target.Request{
			Method: http.MethodPost, Path: target.BrainPath(brain) + "/documents/ingest/file", ContentType: protocol.TypeJSON,
			Body: target.Encode(r.config.Dialect, map[string]any{
				"path": strings.ReplaceAll(doc.Path, "/", "-"), "content_type": "text/markdown", "content_base64": doc.Data,
			}, nil),
		})
		return o
	case op == Remember:
		_, o.Err = e.Create(ctx, target.Request{
			Method: http.MethodPost, Path: target.BrainPath(brain) + "/sessions/" + sessionOf(number) + "/messages", ContentType: protocol.TypeJSON,
			Body: target.Encode(r.config.Dialect, map[string]any{"role": protocol.RoleUser, "content": string(doc.Data)}, nil),
		})
		return o
	default:
		o.Err = put(ctx, e, brain, doc)
	}
	r.acknowledge(o.Err, brain, number, 1)
	return o
}

const (
	batchDocs = 10
	sessions  = 64 // that remember and recall use
)

func sessionOf(number uint64) string { return fmt.Sprintf("bench-%d", number%sessions) }

// newDoc returns the document written by a request, or one of several for a batch.
func (r *Requests) newDoc(number uint64, i int) dataset.Doc {
	random := numbered(^r.config.Seed, number*batchDocs+uint64(i))
	return dataset.Doc{
		Path: fmt.Sprintf("bench-written/%s/%03d/%d-%d.md", r.config.Writer, number/1000%1000, number, i),
		Data: []byte(text(random, fmt.Sprintf("Written %s-%d-%d", r.config.Writer, number, i), leastWords)),
	}
}

// put writes a document with one request.
func put(ctx context.Context, e *target.Endpoint, brain string, doc dataset.Doc) error {
	return e.Change(ctx, target.Request{
		Method: http.MethodPut, Path: documentPath(brain, "", doc.Path), ContentType: protocol.TypeBytes, Body: doc.Data,
	})
}

// batch writes documents with one request.
func batch(ctx context.Context, e *target.Endpoint, brain string, docs []dataset.Doc) error {
	b := protocol.Batch{Reason: "evalctl bench"}
	for _, d := range docs {
		b.Ops = append(b.Ops, protocol.BatchOp{Type: protocol.OpWrite, Path: result.SeedRoot + d.Path, Content: d.Data})
	}
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}
	reply, err := e.Object(ctx, target.Request{
		Method: http.MethodPost, Path: target.BrainPath(brain) + "/documents/batch-ops", ContentType: protocol.TypeJSON, Body: body,
	})
	if err != nil {
		return err
	}
	if n, err := reply.Number("committed"); err != nil || n != float64(len(docs)) {
		return target.NewFailure(result.KindProtocol, fmt.Sprintf("the daemon reports %.40s committed documents of %d",
			cmp.Or(string(reply.Get("committed")), "0"), len(docs)))
	}
	return nil
}

func documentPath(brain, below, path string) string {
	return target.BrainPath(brain) + "/documents" + below + "?path=" + url.QueryEscape(result.SeedRoot+path)
}

// answer searches or asks a service that does not speak the protocol.
func (r *Requests) answer(ctx context.Context, s target.Service, op, brain string, q query) (o load.Outcome) {
	t := &target.Target{
		Service: s, Brains: map[string]string{"": brain}, Scenario: result.SearchOnly, Mode: r.config.Mode, TopK: r.config.TopK,
		Dialect: r.config.Dialect,
	}
	if op == Ask {
		t.Scenario = result.AskBasic
	}
	a, err := s.Answer(ctx, t, dataset.Question{Question: q.text})
	return load.Outcome{Err: err, Bytes: int64(len(a.Answer))}
}
