package gateway

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUnknownKeys: under a cap, a key that the gateway does not know is refused by its name, wherever
// it is, and passes without one.
func TestUnknownKeys(t *testing.T) {
	for in, at := range map[string]string{
		`"models":["gpt-5","o1"]`:         "models",
		`"route":"fallback"`:              "route",
		`"plugins":[{"id":"web"}]`:        "plugins",
		`"provider":{"order":["x"]}`:      "provider",
		`"web_search_options":{}`:         "web_search_options",
		`"prediction":{}`:                 "prediction",
		`"audio":{"voice":"x"}`:           "audio",
		`"best_of":20`:                    "best_of",
		`"Messages":[]`:                   "Messages",
		`"modalities":["text","audio"]`:   "modalities[1]",
		`"modalities":"audio"`:            "modalities",
		`"service_tier":"priority"`:       "service_tier",
		`"service_tier":"scale"`:          "service_tier",
		`"tools":[{"type":"web_search"}]`: "tools[0].type",
		`"tools":[{"type":"function","function":{"name":"f","parameters":{"models":1}},"price":1}]`: "tools[0].price",
		`"tools":[{"name":"web","type":"web_search_20250305"}]`:                                     "tools[0].name",
		`"tool_choice":{"type":"web_search"}`:                                                       "tool_choice.type",
		`"messages":[{"role":"user","content":"a","cache_control":{}}]`:                             "messages[0].cache_control",
		`"messages":[{"content":[{"type":"text","text":"a","cache_control":{}}]}]`:                  "messages[0].content[0].cache_control",
		`"messages":[{"content":[{"type":"text","image_url":{}}]}]`:                                 "messages[0].content[0].image_url",
		`"messages":[{"content":[{"type":"text","type":"image_url"}]}]`:                             "messages[0].content[0].type",
		`"tools":[{"type":"function","type":"function"}]`:                                           "tools[0].type",
		`"messages":[{"content":{"url":"x"}}]`:                                                      "messages[0].content",
		`"messages":[{"audio":{"id":"x"}}]`:                                                         "messages[0].audio",
		`"response_format":{"type":"text","search":true}`:                                           "response_format.search",
		`"temperature":{"x":1}`:                                                                     "temperature",
	} {
		body := `{"model":"m",` + in
		if !strings.HasPrefix(in, `"messages"`) {
			body += `,"messages":[]`
		}
		body += "}"
		_, err := parse(completions, []byte(body), "", true)
		var own *refusal
		if err == nil || !errors.Is(err, errUnbounded) && !errors.As(err, &own) || !strings.Contains(err.Error(), `"`+at+`"`) {
			t.Errorf("%s: got %v", in, err)
		}
		if c, err := parse(completions, []byte(body), "", false); err != nil || string(c.body) != body {
			t.Errorf("%s without a cap: %v", in, err)
		}
	}
	for in, at := range map[string]string{
		`"input":[{"image":"http://h"}]`: "input[0]", `"input":"a","models":[]`: "models", `"input":{"text":"a"}`: "input", `"input":[[[1]]]`: "input[0][0]",
	} {
		_, err := parse(embeddings, []byte(`{"model":"m",`+in+`}`), "", true)
		if !errors.Is(err, errUnbounded) && err == nil || !strings.Contains(err.Error(), `"`+at+`"`) {
			t.Errorf("%s: got %v", in, err)
		}
	}
}

// TestKnownKeys: what the tools of providers send by themselves is allowed.
func TestKnownKeys(t *testing.T) {
	for _, in := range []string{
		`"messages":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}],"name":"n"},
			{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"1","content":"c"}],"temperature":0,"top_p":1,"seed":1,"stop":["x","y"],"user":"u",
			"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object","plugins":{}}}},
			"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],
			"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,"reasoning_effort":"low","verbosity":"low",
			"logit_bias":{"50256":-100},"metadata":{"a":"b"},"store":false,"service_tier":"flex","modalities":["text"],"models":null`,
		`"messages":[],"tool_choice":"auto","stop":"x","stream":true,"stream_options":{"include_usage":true}`,
	} {
		if _, err := parse(completions, []byte(`{"model":"m",`+in+`}`), "", true); err != nil {
			t.Error(err)
		}
	}
	for _, in := range []string{`"input":"a"`, `"input":["a","b"],"encoding_format":"base64"`, `"input":[1,2]`, `"input":[[1,2],[3]],"dimensions":8,"user":"u"`} {
		if _, err := parse(embeddings, []byte(`{"model":"m",`+in+`}`), "", true); err != nil {
			t.Error(err)
		}
	}
}

// TestAnyOtherKey: no key at any place is passed on that the gateway does not name.
func TestAnyOtherKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := "x_" + rapid.StringMatching(`[a-z_]{1,12}`).Draw(t, "key")
		place := rapid.SampledFrom([]string{
			`{"model":"m","messages":[],%}`, `{%,"model":"m","messages":[]}`, `{"model":"m","messages":[{"role":"user",%}]}`,
			`{"model":"m","messages":[{"content":[{"type":"text",%}]}]}`, `{"model":"m","messages":[],"tools":[{"type":"function",%}]}`,
			`{"model":"m","messages":[],"tools":[{"type":"function","function":{%}}]}`, `{"model":"m","messages":[],"stream":true,"stream_options":{%}}`,
		}).Draw(t, "place")
		value := rapid.SampledFrom([]string{`1`, `"a"`, `[]`, `{}`, `true`}).Draw(t, "value")
		name, _ := json.Marshal(key)
		_, err := parse(completions, []byte(strings.Replace(place, "%", string(name)+":"+value, 1)), "", true)
		if !errors.Is(err, errUnbounded) || !strings.Contains(err.Error(), key) {
			t.Fatalf("%s: %v", place, err)
		}
	})
}
