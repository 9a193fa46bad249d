package gateway

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/llm"
)

const (
	maxAnswer    = 64 << 20 // vectors of the largest batches
	maxRefusal   = 64 << 10
	writeTimeout = 30 * time.Second
)

// passed are the response headers that are passed on to the daemon.
var passed = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id"}

// send sends a request with the provider's key and passes on the answer. An error is a *refusal or
// the context's.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, c *call, out *http.Request) (outcome, error) {
	httpclient.Identify(out, "evalctl", g.secret)
	if accept := r.Header.Get("Accept"); accept != "" {
		out.Header.Set("Accept", accept)
	}
	var connected atomic.Bool
	out = out.WithContext(httptrace.WithClientTrace(out.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	res, err := g.client.Do(out)
	if err != nil {
		o := outcome{rejected: !connected.Load()}
		if r.Context().Err() != nil {
			return o, r.Context().Err()
		}
		return o, g.unusable("did not answer", httpclient.Cause(out.Context(), err))
	}
	defer res.Body.Close()
	for _, name := range passed {
		if v := res.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	switch {
	case res.StatusCode/100 != 2:
		return g.passRefusal(w, c, res), nil
	case isStream(res.Header.Get("Content-Type")):
		return passStream(w, c, res.Body), nil
	}
	return g.passAnswer(w, c, res)
}

func isStream(contentType string) bool { return strings.HasPrefix(contentType, "text/event-stream") }

func (g *Gateway) unusable(what string, cause error) *refusal {
	return refuse(http.StatusBadGateway, "upstream", "the model provider %s %s: %v", g.upstream, what, cause)
}

// passRefusal passes on a provider's error. If it counts tokens, they were charged. A gateway
// timeout or a failed engine may have been charged; other rejected requests were not.
func (g *Gateway) passRefusal(w http.ResponseWriter, c *call, res *http.Response) outcome {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what there is
	if g.secret != "" {
		body = bytes.ReplaceAll(body, []byte(g.secret), []byte("[API key]"))
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body) // fails only if the client has gone
	if usage, problem, counted := llm.RejectedUsage(body); counted {
		if problem == "" {
			problem = c.overrun(usage)
		}
		return outcome{counted: true, usage: usage, problem: problem}
	}
	status := res.StatusCode
	return outcome{rejected: status < http.StatusInternalServerError || status == http.StatusServiceUnavailable}
}

// passAnswer passes on a complete answer that is not a stream.
func (g *Gateway) passAnswer(w http.ResponseWriter, c *call, res *http.Response) (outcome, error) {
	body, err := httpclient.ReadBody(res, maxAnswer)
	if err != nil {
		if ctxErr := res.Request.Context().Err(); ctxErr != nil {
			return outcome{}, ctxErr
		}
		w.Header().Del("Retry-After")
		return outcome{}, g.unusable("sent an answer that broke off", err)
	}
	t := newTally(c)
	t.add(parseAnswer(body))
	if c.keep != nil && t.whole() {
		c.keep(newCachedAnswer(res.Header.Get("Content-Type"), body, t))
	}
	_, _ = w.Write(body) // fails only if the client has gone
	o := t.outcome()
	o.rejected = !o.counted && llm.StatesError(body)
	return o, nil
}

// cachedAnswer is a stored answer.
type cachedAnswer struct {
	ContentType  string    `json:"content_type"`
	Body         string    `json:"body"` // of a stream: its events as the provider sent them
	InputTokens  int       `json:"input_tokens"`
	OutputTokens int       `json:"output_tokens"`
	Estimated    bool      `json:"estimated,omitempty"`
	Time         time.Time `json:"time"`
}

func newCachedAnswer(contentType string, body []byte, t *tally) cachedAnswer {
	u := t.call.charge(t.outcome()).Usage
	return cachedAnswer{contentType, string(body), u.InputTokens, u.OutputTokens, u.Estimated, time.Now().UTC()}
}

// outcome returns the outcome of the original paid request.
func (a cachedAnswer) outcome(c *call) outcome {
	u := llm.Usage{InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Estimated: a.Estimated}
	if u.InputTokens == 0 { // nobody counted
		t := newTally(c)
		if c.path != embeddings {
			t.text = len(a.Body)
		}
		u = t.outcome().usage
	}
	return outcome{ended: true, counted: !u.Estimated, usage: u, problem: c.overrun(u)}
}

func (a cachedAnswer) replay(w http.ResponseWriter, c *call) error {
	w.Header().Set("Content-Type", a.ContentType)
	if isStream(a.ContentType) {
		passStream(w, c, strings.NewReader(a.Body))
		return nil
	}
	_, _ = io.WriteString(w, a.Body) // fails only if the client has gone
	return nil
}
