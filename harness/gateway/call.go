package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"evalctl/internal/llm"
)

// errUnbounded means that a request's cost is unbounded, so that no cap can allow it.
var errUnbounded = errors.New("the cost of a request has no known bound")

// The output limits for completions without one. Under a cap, the gateway adds the limit to the
// request.
const (
	DefaultMaxTokens          = 4096
	DefaultReasoningMaxTokens = 16384
)

const (
	maxChoices    = 128     // as OpenAI's
	beyondModels  = 1 << 24 // tokens of output: more than any model returns
	requestTokens = 64      // what a chat template adds, with a margin: a message's JSON has more bytes than its template tokens
)

// call is a request that may cost money.
type call struct {
	path    string
	model   string
	unnamed bool   // the daemon named no model
	body    []byte // as sent to the provider
	// stream is set for an event stream, and wantsUsage if the caller asked for the usage event.
	stream, wantsUsage bool
	choices            int
	outputTokens       int  // at most, of all choices
	unlimited          bool // neither the caller nor a cap limits the output

	account          llm.Account
	price            llm.Price
	capped, unpriced bool
	keep             func(cachedAnswer) // nil if nothing is stored
}

func (c *call) reader() io.Reader { return bytes.NewReader(c.body) }

// worst returns the maximum cost of the request: one token per byte sent, since no tokenizer
// produces more, plus the output limit.
func (c *call) worst() llm.USD { return c.price.Cost(c.most()) }

// most returns the maximum tokens of the request.
func (c *call) most() llm.Usage {
	return llm.Usage{InputTokens: len(c.body) + requestTokens, OutputTokens: c.outputTokens, Estimated: true}
}

// overrun describes a usage above the request's maximum, empty if it is within.
func (c *call) overrun(u llm.Usage) string {
	most := c.most()
	if c.unlimited {
		most.OutputTokens = beyondModels * maxChoices
	}
	return u.Overrun(most, c.price)
}

// parse checks a request and completes it: the model if missing, the usage at the end of a stream
// and, under a cap, an output limit; under a cap, it rejects anything of unbounded cost. The rest
// is sent unchanged.
func parse(path string, body []byte, model string, capped bool) (*call, error) {
	fields, err := topLevel(body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "bad_request", "the request is not one JSON object: %v", err)
	}
	c := &call{path: path, body: body}
	add := map[string]json.RawMessage{}
	if err := c.nameModel(fields, model, add); err != nil {
		return nil, err
	}
	if capped {
		if err := bounded(path, bytes.TrimSpace(body)); err != nil {
			return nil, err
		}
	}
	if path == embeddings {
		return c, c.edit(fields, add)
	}
	if given(fields, "stream") && json.Unmarshal(fields["stream"], &c.stream) != nil {
		return nil, refuse(http.StatusBadRequest, "bad_request", `"stream" is not true or false`)
	}
	if err := c.limitOutput(fields, capped, add); err != nil {
		return nil, err
	}
	if c.stream {
		if err := c.askUsage(fields, add); err != nil {
			return nil, err
		}
	}
	return c, c.edit(fields, add)
}

// nameModel sets the model, and adds the default to a request without one.
func (c *call) nameModel(fields map[string]json.RawMessage, model string, add map[string]json.RawMessage) error {
	if given(fields, "model") && json.Unmarshal(fields["model"], &c.model) != nil {
		return refuse(http.StatusBadRequest, "bad_request", `"model" is not a text`)
	}
	if c.model != "" {
		return nil
	}
	if model == "" {
		remedy := "give --actor-style full or --ingest-mode replay with a --model for the daemon to generate with"
		if c.path == embeddings {
			remedy = "give the daemon an embedding model with SVC_EMBED_PROVIDER=openai and SVC_EMBED_MODEL"
		}
		return refuse(http.StatusBadRequest, "no_model", "the request names no model, and the replay has no model for such requests: %s", remedy)
	}
	data, err := json.Marshal(model)
	c.model, c.unnamed, add["model"] = model, true, data
	return err
}

// topLevel returns the fields of an object. A repeated key is an error, since providers differ in
// which one they use.
func topLevel(body []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it does not begin with {"), err)
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder accepts no other key
		if _, again := fields[name]; again {
			return nil, fmt.Errorf("it has key %q twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return fields, nil
}

// given reports whether a field has a value besides null.
func given(fields map[string]json.RawMessage, name string) bool {
	value, ok := fields[name]
	return ok && string(value) != "null"
}

// limitOutput sets outputTokens, and under a cap adds the limit to a request without one.
func (c *call) limitOutput(fields map[string]json.RawMessage, capped bool, add map[string]json.RawMessage) error {
	limit := 0
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if !given(fields, name) {
			continue
		}
		var n int
		if err := json.Unmarshal(fields[name], &n); err != nil || capped && n < 1 {
			return refuse(http.StatusBadRequest, "bad_request", "%q is %s, it must be a number above 0", name, fields[name])
		}
		limit = max(limit, n)
	}
	if limit < 1 {
		name := "max_tokens"
		limit = DefaultMaxTokens
		if llm.IsReasoningModel(c.model) {
			name, limit = "max_completion_tokens", DefaultReasoningMaxTokens
		}
		if c.unlimited = !capped; capped {
			add[name] = json.RawMessage(strconv.Itoa(limit))
		}
	}
	choices := 1
	if given(fields, "n") {
		if err := json.Unmarshal(fields["n"], &choices); err != nil || choices < 1 || choices > maxChoices {
			return refuse(http.StatusBadRequest, "bad_request", `"n" is %s, it must be from 1 to %d`, fields["n"], maxChoices)
		}
	}
	c.choices, c.outputTokens = choices, min(limit, beyondModels)*choices
	return nil
}

// askUsage adds stream_options.include_usage.
func (c *call) askUsage(fields, add map[string]json.RawMessage) error {
	options := map[string]json.RawMessage{}
	if given(fields, "stream_options") {
		if err := json.Unmarshal(fields["stream_options"], &options); err != nil {
			return refuse(http.StatusBadRequest, "bad_request", `"stream_options" is not an object`)
		}
	}
	if c.wantsUsage = string(options["include_usage"]) == "true"; c.wantsUsage {
		return nil
	}
	options["include_usage"] = json.RawMessage("true")
	data, err := json.Marshal(options)
	add["stream_options"] = data
	return err
}

// edit inserts fields into the body, new ones before the others.
func (c *call) edit(fields, add map[string]json.RawMessage) error {
	replaces := len(fields) == 0 // which leaves nothing to put fields before
	for name, value := range add {
		_, there := fields[name]
		replaces = replaces || there
		fields[name] = value
	}
	if len(add) == 0 {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // as it came
	if replaces {
		err := enc.Encode(fields)
		c.body = out.Bytes()
		return err
	}
	if err := enc.Encode(add); err != nil {
		return err
	}
	first := bytes.TrimSuffix(out.Bytes(), []byte("}\n"))
	rest := c.body[bytes.IndexByte(c.body, '{')+1:]
	c.body = append(append(bytes.Clone(first), ','), rest...)
	return nil
}
