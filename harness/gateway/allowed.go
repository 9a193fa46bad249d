package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
)

// rule checks one value of a request under a cap. at is the value's path, such as tools[0].type. A
// value that may cost more than the tokens sent and returned is errUnbounded.
type rule func(at string, value json.RawMessage) error

// The request keys whose cost is bounded. Other keys are refused, since a provider may have keys
// that select other models, tiers or tools with separate prices. null counts as absent.
var (
	embeddingKeys = object(map[string]rule{
		"model": anything, "input": lists(scalar), "encoding_format": scalar, "dimensions": scalar, "user": scalar,
	})
	completionKeys = object(map[string]rule{
		"model": anything, "messages": list(message),
		"max_tokens": anything, "max_completion_tokens": anything, "n": anything, // limitOutput checks these
		"stream": anything, "stream_options": object(map[string]rule{"include_usage": scalar, "include_obfuscation": scalar}),
		"temperature": scalar, "top_p": scalar, "top_k": scalar, "min_p": scalar, "seed": scalar, "stop": lists(scalar),
		"frequency_penalty": scalar, "presence_penalty": scalar, "repetition_penalty": scalar,
		"logit_bias": anything, "logprobs": scalar, "top_logprobs": scalar,
		"reasoning_effort": scalar, "verbosity": scalar, "modalities": list(oneOf("text")),
		"service_tier": oneOf("auto", "default", "flex"),
		"response_format": object(map[string]rule{
			"type": scalar, "json_schema": object(map[string]rule{
				"name": scalar, "description": scalar, "schema": anything, "strict": scalar,
			}),
		}),
		"tools":               list(object(map[string]rule{"type": oneOf("function"), "function": function})),
		"tool_choice":         either(scalar, object(map[string]rule{"type": oneOf("function"), "function": object(map[string]rule{"name": scalar})})),
		"parallel_tool_calls": scalar, "functions": list(function), "function_call": either(scalar, object(map[string]rule{"name": scalar})),
		"user": scalar, "safety_identifier": scalar, "prompt_cache_key": scalar, "metadata": anything, "store": scalar,
		"chat_template_kwargs": anything,
	})
	message = object(map[string]rule{
		"role": scalar, "content": either(scalar, list(part)), "name": scalar, "refusal": scalar, "reasoning_content": scalar,
		"tool_call_id": scalar, "tool_calls": list(object(map[string]rule{
			"id": scalar, "index": scalar, "type": oneOf("function"), "function": called,
		})),
		"function_call": called, "annotations": anything,
	})
	part     = object(map[string]rule{"type": oneOf("text", "refusal"), "text": scalar, "refusal": scalar})
	function = object(map[string]rule{"name": scalar, "description": scalar, "parameters": anything, "strict": scalar})
	called   = object(map[string]rule{"name": scalar, "arguments": scalar})
)

// bounded returns an error for a request with a key or a value of unbounded cost.
func bounded(path string, body []byte) error {
	if path == embeddings {
		return embeddingKeys("", body)
	}
	return completionKeys("", body)
}

func unbounded(at string) error {
	return fmt.Errorf("%w: a cap cannot allow %q; have the daemon leave it out, or replay without a cap (--max-cost-usd off)",
		errUnbounded, at)
}

// anything allows every value: it is only text to the provider, or is checked elsewhere.
func anything(string, json.RawMessage) error { return nil }

// scalar allows strings, numbers and booleans.
func scalar(at string, value json.RawMessage) error {
	if value[0] == '{' || value[0] == '[' {
		return unbounded(at)
	}
	return nil
}

// oneOf allows these strings.
func oneOf(texts ...string) rule {
	return func(at string, value json.RawMessage) error {
		if text, ok := jsonobj.String(value); ok && slices.Contains(texts, text) {
			return nil
		}
		return fmt.Errorf("%w: a cap cannot allow %q to be %.80s, only %s", errUnbounded, at, value, strings.Join(texts, ", "))
	}
}

// either applies other to lists and objects, and simple to the rest.
func either(simple, other rule) rule {
	return func(at string, value json.RawMessage) error {
		if value[0] == '{' || value[0] == '[' {
			return other(at, value)
		}
		return simple(at, value)
	}
}

// list allows lists whose elements satisfy a rule.
func list(element rule) rule {
	return func(at string, value json.RawMessage) error {
		if value[0] != '[' {
			return refuse(http.StatusBadRequest, "bad_request", "%q is not a list", at)
		}
		i := 0
		for e := range jsonobj.Elements(value) {
			if err := allow(element, fmt.Sprintf("%s[%d]", at, i), e); err != nil {
				return err
			}
			i++
		}
		return nil
	}
}

// lists allows values that satisfy a rule, alone or in lists or lists of lists.
func lists(element rule) rule {
	return either(element, list(either(element, list(element))))
}

// object allows objects with these keys, each at most once, since providers differ in which
// repeated one they use.
func object(keys map[string]rule) rule {
	return func(at string, value json.RawMessage) error {
		if value[0] != '{' {
			return refuse(http.StatusBadRequest, "bad_request", "%q is not an object", at)
		}
		members, err := jsonobj.Parse(value)
		if err != nil {
			return refuse(http.StatusBadRequest, "bad_request", "%q is not an object: %v", at, err)
		}
		seen := map[string]bool{}
		for _, m := range members {
			key := string(m.Key)
			below := strings.TrimPrefix(at+"."+key, ".")
			if seen[key] {
				return refuse(http.StatusBadRequest, "bad_request", "%q is given twice", below)
			}
			seen[key] = true
			check := keys[key]
			if check == nil {
				check = func(at string, _ json.RawMessage) error { return unbounded(at) }
			}
			if err := allow(check, below, m.Value); err != nil {
				return err
			}
		}
		return nil
	}
}

// allow applies a rule unless the value is null.
func allow(r rule, at string, value json.RawMessage) error {
	if string(value) == "null" {
		return nil
	}
	return r(at, value)
}
