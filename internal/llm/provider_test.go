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

// asBody returns the body of the request that ask makes for a judge, with these parameters.
func asBody(model, parameters, messages string) string {
	fields := strings.Split(parameters, " ")
	var tokens, format, temperature string
	for _, f := range fields {
		switch {
		case strings.HasPrefix(f, "max"):
			name, n, _ := strings.Cut(f, "=")
			tokens = fmt.Sprintf(`"%s":%s,`, name, n)
		case f == "json":
			format = `,"response_format":{"type":"json_object"}`
		case f == "temperature":
			temperature = `,"temperature":0`
		}
	}
	return fmt.Sprintf(`{%s"messages":[%s],"model":"%s"%s,"stream":false%s}`, tokens, messages, model, format, temperature)
}

const (
	asSystem = `{"role":"system","content":"Grade."},{"role":"user","content":"{}"}`
	asUser   = `{"role":"user","content":"Grade.\n\n{}"}`
	answered = `{"id":"1","object":"chat.completion","model":"served","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`
)

// provider is a stub of an endpoint: what it answers to a body, byte for byte as the real one does.
// Facts only: which status, which shape, which words.
type provider struct {
	name    string
	model   string
	options []string
	// refuses returns the reply to a body that the endpoint refuses, or fails for, at the n-th request.
	refuses func(body string, n int) llmtest.Reply
	bodies  []string // that arrive
	asked   string   // as the answer says, "" for an error
	says    string   // the error
}

func has(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

func bad(body string) llmtest.Reply { return llmtest.Reply{Status: 400, Body: body} }

var providers = []provider{
	{
		name: "OpenAI, a reasoning model behind another name", model: "team/o3",
		refuses: func(body string, _ int) llmtest.Reply {
			switch {
			case has(body, `"max_tokens"`):
				return bad(`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`)
			case has(body, `"temperature"`):
				return bad(`{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`)
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("team/o3", "max_tokens=300 json temperature", asSystem),
			asBody("team/o3", "max_completion_tokens=300 json temperature", asSystem),
			asBody("team/o3", "max_completion_tokens=300 json", asSystem),
		},
		asked: "max_completion_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "a server that knows one name alone, for a model with the name of a reasoning one", model: "gpt-5-local",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, `"max_completion_tokens"`) {
				return llmtest.Reply{Status: 422, Body: `{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":300}]}`}
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("gpt-5-local", "max_completion_tokens=300 json", asSystem),
			asBody("gpt-5-local", "max_tokens=300 json", asSystem),
		},
		asked: "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "Azure, a deployment of a reasoning model", model: "azure-gpt5",
		refuses: func(body string, _ int) llmtest.Reply {
			switch {
			case has(body, `"max_tokens"`):
				return bad(`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`)
			case has(body, `"temperature"`):
				return bad(`{"error":{"message":"Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`)
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("azure-gpt5", "max_tokens=300 json temperature", asSystem),
			asBody("azure-gpt5", "max_completion_tokens=300 json temperature", asSystem),
			asBody("azure-gpt5", "max_completion_tokens=300 json", asSystem),
		},
		asked: "max_completion_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "Azure's content filter", model: "azure-gpt4",
		refuses: func(string, int) llmtest.Reply {
			return bad(`{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{}}}}`)
		},
		bodies: []string{asBody("azure-gpt4", "max_tokens=300 json temperature", asSystem)},
		says:   "content management policy",
	},
	{
		name: "LM Studio", model: "qwen3-8b",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, `"json_object"`) {
				return bad(`{"error":"'response_format.type' must be 'json_schema' or 'text'"}`)
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("qwen3-8b", "max_tokens=300 json temperature", asSystem),
			asBody("qwen3-8b", "max_tokens=300 temperature", asSystem),
		},
		asked: "max_tokens=300, temperature=0, response_format=none, system=system",
	},
	{
		name: "LM Studio, at a wrong path", model: "qwen3-8b",
		refuses: func(string, int) llmtest.Reply {
			return llmtest.Reply{Body: `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`}
		},
		bodies: []string{asBody("qwen3-8b", "max_tokens=300 json temperature", asSystem)},
		says:   "Unexpected endpoint or method. (POST /chat/completions)",
	},
	{
		name: "vLLM, a template without the role system", model: "google/gemma-2-2b-it",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, `"system"`) {
				return bad(`{"object":"error","message":"System role not supported","type":"BadRequestError","param":null,"code":400}`)
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("google/gemma-2-2b-it", "max_tokens=300 json temperature", asSystem),
			asBody("google/gemma-2-2b-it", "max_tokens=300 json temperature", asUser),
		},
		asked: "max_tokens=300, temperature=0, response_format=json_object, system=none",
	},
	{
		name: "vLLM, an item that is too long", model: "m",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, "Reply with the JSON object") {
				return llmtest.Reply{}
			}
			return bad(`{"error":{"message":"This model's maximum context length is 512 tokens. However, you requested 900 tokens (600 in the messages, 300 in the completion). Please reduce the length of the messages or completion. 'max_tokens' is too large.","type":"BadRequestError","param":null,"code":400}}`)
		},
		// The item, and the probe that finds nothing wrong with the parameters.
		bodies: []string{asBody("m", "max_tokens=300 json temperature", asSystem), "*"},
		says:   "maximum context length is 512 tokens",
	},
	{
		name: "llama.cpp, which loads its model", model: "m",
		refuses: func(_ string, n int) llmtest.Reply {
			if n == 1 {
				return llmtest.Reply{Status: 503, RetryAfter: "0", Body: `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`}
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("m", "max_tokens=300 json temperature", asSystem), asBody("m", "max_tokens=300 json temperature", asSystem),
		},
		asked: "max_tokens=300, temperature=0, response_format=json_object, system=system",
	},
	{
		name: "llama.cpp, an item that is too long", model: "m",
		refuses: func(string, int) llmtest.Reply {
			return bad(`{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`)
		},
		bodies: []string{asBody("m", "max_tokens=300 json temperature", asSystem)},
		says:   "exceeds the available context size",
	},
	{
		name: "Ollama, which has not the model", model: "llama9",
		refuses: func(string, int) llmtest.Reply {
			return llmtest.Reply{Status: 404, Body: `{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"not_found_error","param":null,"code":null}}`}
		},
		bodies: []string{asBody("llama9", "max_tokens=300 json temperature", asSystem)},
		says:   `model "llama9" not found, try pulling it first`,
	},
	{
		name: "Ollama, which is busy", model: "m",
		refuses: func(_ string, n int) llmtest.Reply {
			if n == 1 {
				return llmtest.Reply{Status: 503, RetryAfter: "0", Body: `{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error","param":null,"code":null}}`}
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("m", "max_tokens=300 json temperature", asSystem), asBody("m", "max_tokens=300 json temperature", asSystem),
		},
		asked: "max_tokens=300, temperature=0, response_format=json_object, system=system",
	},
	{
		name: "OpenRouter, the provider behind it", model: "z-ai/glm",
		refuses: func(string, int) llmtest.Reply {
			return llmtest.Reply{Body: `{"error":{"message":"Provider returned error","code":403,"metadata":{"raw":"{\"detail\":\"this model needs moderation\"}","provider_name":"BaseTen"}},"user_id":"user_1"}`}
		},
		bodies: []string{asBody("z-ai/glm", "max_tokens=300 json temperature", asSystem)},
		says:   `403 Forbidden: Provider returned error: {"detail":"this model needs moderation"}`,
	},
	{
		name: "OpenRouter, an error of the choice", model: "z-ai/glm",
		refuses: func(_ string, n int) llmtest.Reply {
			if n == 1 {
				return llmtest.Reply{Body: `{"id":"gen-1","model":"z-ai/glm","choices":[{"index":0,"finish_reason":"error","native_finish_reason":"error","error":{"code":429,"message":"Rate limited upstream"},"message":{"role":"assistant","content":""}}]}`}
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("z-ai/glm", "max_tokens=300 json temperature", asSystem), asBody("z-ai/glm", "max_tokens=300 json temperature", asSystem),
		},
		asked: "max_tokens=300, temperature=0, response_format=json_object, system=system",
	},
	{
		name: "Gemini, a model without instructions", model: "gemma-3-27b-it",
		refuses: func(body string, _ int) llmtest.Reply {
			switch {
			case has(body, `"json_object"`):
				return bad(`[{"error":{"code":400,"message":"JSON mode is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`)
			case has(body, `"system"`):
				return bad(`[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`)
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("gemma-3-27b-it", "max_tokens=300 json temperature", asSystem),
			asBody("gemma-3-27b-it", "max_tokens=300 temperature", asSystem),
			asBody("gemma-3-27b-it", "max_tokens=300 temperature", asUser),
		},
		asked: "max_tokens=300, temperature=0, response_format=none, system=none",
	},
	{
		name: "Gemini, a bad key", model: "gemini-2.5-flash",
		refuses: func(string, int) llmtest.Reply {
			return llmtest.Reply{Status: 401, Body: `[{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}]`}
		},
		bodies: []string{asBody("gemini-2.5-flash", "max_tokens=300 json temperature", asSystem)},
		says:   "invalid authentication credentials",
	},
	{
		name: "Anthropic, a model without a temperature", model: "claude-opus-4-7",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, `"temperature"`) {
				return bad("{\"error\":{\"code\":\"invalid_request_error\",\"message\":\"`temperature` is deprecated for this model.\",\"type\":\"invalid_request_error\",\"param\":null}}")
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("claude-opus-4-7", "max_tokens=300 json temperature", asSystem),
			asBody("claude-opus-4-7", "max_tokens=300 json", asSystem),
		},
		asked: "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "Anthropic, overloaded", model: "claude-sonnet-4-5",
		refuses: func(_ string, n int) llmtest.Reply {
			if n == 1 {
				return llmtest.Reply{Status: 529, RetryAfter: "0", Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`}
			}
			return llmtest.Reply{}
		},
		bodies: []string{
			asBody("claude-sonnet-4-5", "max_tokens=300 json temperature", asSystem),
			asBody("claude-sonnet-4-5", "max_tokens=300 json temperature", asSystem),
		},
		asked: "max_tokens=300, temperature=0, response_format=json_object, system=system",
	},
	{
		name: "an endpoint that names no cause", model: "m",
		refuses: func(body string, _ int) llmtest.Reply {
			if has(body, `"temperature"`) {
				return bad(`{"error":{"message":"Bad Request"}}`)
			}
			return llmtest.Reply{}
		},
		// The item, the probe as it was, without JSON, without a temperature, and the item again.
		bodies: []string{
			asBody("m", "max_tokens=300 json temperature", asSystem), "*", "*", "*", asBody("m", "max_tokens=300 json", asSystem),
		},
		asked: "max_tokens=300, temperature=none, response_format=json_object, system=system",
	},
	{
		name: "an endpoint that is told by options", model: "team/o3",
		options: []string{"max_completion_tokens=300", "temperature=none", "response_format=none", "system=none"},
		bodies:  []string{asBody("team/o3", "max_completion_tokens=300", asUser)},
		asked:   "max_completion_tokens=300 (said), temperature=none (said), response_format=none (said), system=none (said)",
	},
	{
		name: "options that the endpoint refuses", model: "team/o3", options: []string{"max_tokens=300"},
		refuses: func(string, int) llmtest.Reply {
			return bad(`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`)
		},
		bodies: []string{asBody("team/o3", "max_tokens=300 json temperature", asSystem)},
		says:   "Unsupported parameter: 'max_tokens'",
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
				if p.refuses != nil {
					if r := p.refuses(string(c.Body), n); r != (llmtest.Reply{}) {
						return r
					}
				}
				return llmtest.Reply{Body: answered}
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
			if resp.Attempts != len(p.bodies) {
				t.Errorf("%d requests are counted", resp.Attempts)
			}
			p.compare(t, srv.Calls())
			if p.asked == "" {
				e, ok := errors.AsType[*Error](err)
				probed := slices.Contains(p.bodies, "*")
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
			if err != nil || again.Attempts != 1 || string(calls[len(calls)-1].Body) != p.bodies[len(p.bodies)-1] {
				t.Errorf("the second request: %+v, %v, %s", again, err, calls[len(calls)-1].Body)
			}
		})
	}
}

// compare compares the bodies that arrived; that of a probe is "*".
func (p provider) compare(t *testing.T, calls []llmtest.Call) {
	t.Helper()
	var got []string
	for i, c := range calls {
		body := string(c.Body)
		if i < len(p.bodies) && p.bodies[i] == "*" && has(body, `Reply with the JSON object`) {
			body = "*"
		}
		got = append(got, body)
	}
	if diff := cmp.Diff(p.bodies, got); diff != "" {
		t.Error(diff)
	}
}
