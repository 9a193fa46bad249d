package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/llm/llmtest"
)

// asBody returns the body of the request that ask makes for a judge, with these parameters. With
// "user", there is no message of the role system.
func asBody(model, parameters string) string {
	var tokens, format, temperature string
	messages := asSystem
	for _, f := range strings.Fields(parameters) {
		switch f {
		case "json":
			format = `,"response_format":{"type":"json_object"}`
		case "temperature":
			temperature = `,"temperature":0`
		case "user":
			messages = asUser
		default:
			name, n, _ := strings.Cut(f, "=")
			tokens = fmt.Sprintf(`"%s":%s,`, name, n)
		}
	}
	return fmt.Sprintf(`{%s"messages":[%s],"model":"%s"%s,"stream":false%s}`, tokens, messages, model, format, temperature)
}

const (
	asSystem = `{"role":"system","content":"Grade."},{"role":"user","content":"{}"}`
	asUser   = `{"role":"user","content":"Grade.\n\n{}"}`
	answered = `{"id":"1","object":"chat.completion","model":"served","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`
)

// refusedBody is what an endpoint answers to a body that contains a text.
type refusedBody struct {
	part   string
	status int
	body   string
}

// provider is a stub of an endpoint: what it answers to a body, byte for byte as the real one does.
// Facts only: which status, which shape, which words.
type provider struct {
	name    string
	model   string
	options []string
	first   refusedBody   // of the first request, if it has a status
	refuses []refusedBody // of every request
	sends   []string      // the parameters of the bodies that arrive, for asBody; "*" is a probe
	asked   string        // as the answer says, "" for an error
	says    string        // the error
}

// reply answers the n-th request.
func (p provider) reply(body string, n int) llmtest.Reply {
	if n == 1 && p.first.status != 0 {
		return llmtest.Reply{Status: p.first.status, RetryAfter: "0", Body: p.first.body}
	}
	for _, r := range p.refuses {
		if strings.Contains(body, r.part) {
			return llmtest.Reply{Status: r.status, Body: r.body}
		}
	}
	return llmtest.Reply{Body: answered}
}

const (
	common  = "max_tokens=300 json temperature"
	noMax   = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
	inJSON  = "max_tokens=300, temperature=0, response_format=json_object, system=system"
	reasons = "max_completion_tokens=300, temperature=none, response_format=json_object, system=system"
)

var providers = []provider{
	{
		name: "OpenAI, a reasoning model behind another name", model: "team/o3",
		refuses: []refusedBody{
			{`"max_tokens"`, 400, noMax},
			{`"temperature"`, 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`},
		},
		sends: []string{common, "max_completion_tokens=300 json temperature", "max_completion_tokens=300 json"},
		asked: reasons,
	},
	{
		name: "a server that knows one name alone, for a model with the name of a reasoning one", model: "gpt-5-local",
		refuses: []refusedBody{{`"max_completion_tokens"`, 422, `{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":300}]}`}},
		sends:   []string{"max_completion_tokens=300 json", "max_tokens=300 json"},
		asked:   "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "Azure, a deployment of a reasoning model", model: "azure-gpt5",
		refuses: []refusedBody{
			{`"max_tokens"`, 400, noMax},
			{`"temperature"`, 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`},
		},
		sends: []string{common, "max_completion_tokens=300 json temperature", "max_completion_tokens=300 json"},
		asked: reasons,
	},
	{
		name: "Azure's content filter", model: "azure-gpt4",
		refuses: []refusedBody{{"", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{}}}}`}},
		sends:   []string{common},
		says:    "content management policy",
	},
	{
		name: "LM Studio", model: "qwen3-8b",
		refuses: []refusedBody{{`"json_object"`, 400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`}},
		sends:   []string{common, "max_tokens=300 temperature"},
		asked:   "max_tokens=300, temperature=0, response_format=none, system=system",
	},
	{
		name: "LM Studio, at a wrong path", model: "qwen3-8b",
		refuses: []refusedBody{{"", 200, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`}},
		sends:   []string{common},
		says:    "Unexpected endpoint or method. (POST /chat/completions)",
	},
	{
		name: "vLLM, a template without the role system", model: "google/gemma-2-2b-it",
		refuses: []refusedBody{{`"system"`, 400, `{"object":"error","message":"System role not supported","type":"BadRequestError","param":null,"code":400}`}},
		sends:   []string{common, common + " user"},
		asked:   "max_tokens=300, temperature=0, response_format=json_object, system=none",
	},
	{
		name: "vLLM, an item that is too long", model: "m",
		refuses: []refusedBody{
			{"Reply with the JSON object", 200, answered}, // the probe, which finds nothing wrong with the parameters
			{"", 400, `{"error":{"message":"This model's maximum context length is 512 tokens. However, you requested 900 tokens (600 in the messages, 300 in the completion). Please reduce the length of the messages or completion. 'max_tokens' is too large.","type":"BadRequestError","param":null,"code":400}}`},
		},
		sends: []string{common, "*"},
		says:  "maximum context length is 512 tokens",
	},
	{
		name: "llama.cpp, which loads its model", model: "m",
		first: refusedBody{status: 503, body: `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`},
		sends: []string{common, common}, asked: inJSON,
	},
	{
		name: "llama.cpp, an item that is too long", model: "m",
		refuses: []refusedBody{{"", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`}},
		sends:   []string{common},
		says:    "exceeds the available context size",
	},
	{
		name: "Ollama, which has not the model", model: "llama9",
		refuses: []refusedBody{{"", 404, `{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"not_found_error","param":null,"code":null}}`}},
		sends:   []string{common},
		says:    `model "llama9" not found, try pulling it first`,
	},
	{
		name: "Ollama, which is busy", model: "m",
		first: refusedBody{status: 503, body: `{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error","param":null,"code":null}}`},
		sends: []string{common, common}, asked: inJSON,
	},
	{
		name: "OpenRouter, the provider behind it", model: "z-ai/glm",
		refuses: []refusedBody{{"", 200, `{"error":{"message":"Provider returned error","code":403,"metadata":{"raw":"{\"detail\":\"this model needs moderation\"}","provider_name":"BaseTen"}},"user_id":"user_1"}`}},
		sends:   []string{common},
		says:    `403 Forbidden: Provider returned error: {"detail":"this model needs moderation"}`,
	},
	{
		name: "OpenRouter, an error of the choice", model: "z-ai/glm",
		first: refusedBody{status: 200, body: `{"id":"gen-1","model":"z-ai/glm","choices":[{"index":0,"finish_reason":"error","native_finish_reason":"error","error":{"code":429,"message":"Rate limited upstream"},"message":{"role":"assistant","content":""}}]}`},
		sends: []string{common, common}, asked: inJSON,
	},
	{
		name: "Gemini, a model without instructions", model: "gemma-3-27b-it",
		refuses: []refusedBody{
			{`"json_object"`, 400, `[{"error":{"code":400,"message":"JSON mode is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`},
			{`"system"`, 400, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`},
		},
		sends: []string{common, "max_tokens=300 temperature", "max_tokens=300 temperature user"},
		asked: "max_tokens=300, temperature=0, response_format=none, system=none",
	},
	{
		name: "Gemini, a bad key", model: "gemini-2.5-flash",
		refuses: []refusedBody{{"", 401, `[{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}]`}},
		sends:   []string{common},
		says:    "invalid authentication credentials",
	},
	{
		name: "Anthropic, a model without a temperature", model: "claude-opus-4-7",
		refuses: []refusedBody{{`"temperature"`, 400, "{\"error\":{\"code\":\"invalid_request_error\",\"message\":\"`temperature` is deprecated for this model.\",\"type\":\"invalid_request_error\",\"param\":null}}"}},
		sends:   []string{common, "max_tokens=300 json"},
		asked:   "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "Anthropic, overloaded", model: "claude-sonnet-4-5",
		first: refusedBody{status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`},
		sends: []string{common, common}, asked: inJSON,
	},
	{
		name: "an endpoint that names no cause", model: "m",
		refuses: []refusedBody{{`"temperature"`, 400, `{"error":{"message":"Bad Request"}}`}},
		// The item, the probe as it was, without JSON, without a temperature, and the item again.
		sends: []string{common, "*", "*", "*", "max_tokens=300 json"},
		asked: "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "an endpoint that is told by options", model: "team/o3",
		options: []string{"max_completion_tokens=300", "temperature=none", "response_format=none", "system=none"},
		sends:   []string{"max_completion_tokens=300 user"},
		asked:   "max_completion_tokens=300 (said), temperature=none (said), response_format=none (said), system=none (said)",
	},
	{
		name: "options that the endpoint refuses", model: "team/o3", options: []string{"max_tokens=300"},
		refuses: []refusedBody{{"", 400, noMax}},
		sends:   []string{common},
		says:    "Unsupported parameter: 'max_tokens'",
	},
}

// TestProviders asks each stub, and compares all bytes that arrive. A second request is sent at once
// as the first one has turned out to be.
func TestProviders(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			var mu sync.Mutex
			n := 0
			srv := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
				mu.Lock()
				defer mu.Unlock()
				n++
				return p.reply(string(c.Body), n)
			})
			o, err := newOpenAI(endpointConfig{BaseURL: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			m, err := NewMeter(o, Prices{p.model: {Dollar, Dollar}}, NewBudget(Dollar))
			if err != nil {
				t.Fatal(err)
			}
			r := Request{Model: p.model, MaxTokens: 300, JSON: true, Messages: []Message{{RoleSystem, "Grade."}, {RoleUser, "{}"}}}
			if r.Options, err = ParseOptions(p.options); err != nil {
				t.Fatal(err)
			}
			resp, err := m.Complete(t.Context(), r)
			if resp.Attempts != len(p.sends) {
				t.Errorf("%d requests are counted", resp.Attempts)
			}
			p.compare(t, srv.Calls())
			if p.asked == "" {
				e, ok := errors.AsType[*Error](err)
				probed := slices.Contains(p.sends, "*")
				if !ok || !strings.Contains(e.Error(), p.says) || (resp.Cost != 0) != probed || e.transient {
					t.Errorf("charged %s, got %v", resp.Cost, err)
				}
				return
			}
			if err != nil || resp.Text != "yes" || resp.Asked.String() != p.asked || resp.Cost == 0 {
				t.Fatalf("%+v, %v", resp, err)
			}
			again, err := m.Complete(t.Context(), r)
			calls := srv.Calls()
			if err != nil || again.Attempts != 1 || string(calls[len(calls)-1].Body) != asBody(p.model, p.sends[len(p.sends)-1]) {
				t.Errorf("the second request: %+v, %v, %s", again, err, calls[len(calls)-1].Body)
			}
		})
	}
}

// compare compares the bodies that arrived. Of a probe it knows what it asks for.
func (p provider) compare(t *testing.T, calls []llmtest.Call) {
	t.Helper()
	var want, got []string
	for i, parameters := range p.sends {
		body := asBody(p.model, parameters)
		if parameters == "*" && i < len(calls) && strings.Contains(string(calls[i].Body), "Reply with the JSON object") {
			body = string(calls[i].Body)
		}
		want = append(want, body)
	}
	for _, c := range calls {
		got = append(got, string(c.Body))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
