package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		in, out string // out is "" for the same
		tokens  int
	}{
		"limit":          {`{"model":"m","max_tokens":7}`, "", 7},
		"both limits":    {`{"model":"m","max_tokens":7,"max_completion_tokens":9}`, "", 9},
		"choices":        {`{"model":"m","max_tokens":7,"n":3}`, "", 21},
		"no limit":       {`{ "model":"m", "top_k": 1e3}`, `{"max_tokens":4096, "model":"m", "top_k": 1e3}`, 4096},
		"reasoning":      {`{"model":"o3-mini"}`, `{"max_completion_tokens":16384,"model":"o3-mini"}`, 16384},
		"null":           {`{"model":"<m>","max_tokens":null}`, `{"max_tokens":4096,"model":"<m>"}`, 4096},
		"stream":         {`{"model":"m","max_tokens":7,"stream":true}`, `{"stream_options":{"include_usage":true},"model":"m","max_tokens":7,"stream":true}`, 7},
		"stream options": {`{"model":"m","max_tokens":7,"stream":true,"stream_options":{"include_obfuscation":false}}`, `{"max_tokens":7,"model":"m","stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}}`, 7},
		"usage asked":    {`{"model":"m","max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`, "", 7},
		"parts":          {`{"model":"m","max_tokens":7,"messages":[{"content":[{"type":"text","text":"a"}]},{"content":null},{}]}`, "", 7},
		"tier":           {`{"model":"m","max_tokens":7,"service_tier":"default","audio":null}`, "", 7},
	} {
		body := tt.in
		if !strings.Contains(body, "messages") {
			body = strings.TrimSuffix(body, "}") + `,"messages":[]}`
			if tt.out != "" {
				tt.out = strings.TrimSuffix(tt.out, "}") + `,"messages":[]}`
			}
		}
		c, err := parse(completions, []byte(body), "", true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := tt.out; want == "" && string(c.body) != body || want != "" && !sameJSON(t, string(c.body), want) {
			t.Errorf("%s: sent %s, want %s", name, c.body, want)
		}
		if c.outputTokens != tt.tokens {
			t.Errorf("%s: %d tokens", name, c.outputTokens)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y map[string]json.RawMessage
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || len(x) != len(y) {
		return false
	}
	for key := range x {
		if string(x[key]) != string(y[key]) {
			return false
		}
	}
	return true
}

func TestRejectedRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		in        string
		unbounded bool
		want      string
	}{
		"not JSON":     {`{"model":`, false, "not one JSON object"},
		"list":         {`[]`, false, "not one JSON object"},
		"two":          {`{"model":"m"} {}`, false, "something follows"},
		"key twice":    {`{"model":"m","max_tokens":1,"max_tokens":99}`, false, `"max_tokens" twice`},
		"no model":     {`{"messages":[]}`, false, "names no model"},
		"model number": {`{"model":1}`, false, `"model" is not a text`},
		"no limit":     {`{"model":"m","messages":[],"max_tokens":-1}`, false, `"max_tokens" is -1`},
		"text limit":   {`{"model":"m","messages":[],"max_tokens":"9"}`, false, `"max_tokens" is "9"`},
		"huge limit":   {`{"model":"m","messages":[],"max_tokens":1e99}`, false, `"max_tokens" is 1e99`},
		"choices":      {`{"model":"m","messages":[],"n":1000}`, false, `"n" is 1000`},
		"stream":       {`{"model":"m","messages":[],"stream":"yes"}`, false, `"stream" is not`},
		"options":      {`{"model":"m","messages":[],"stream":true,"stream_options":[]}`, false, `"stream_options" is not an object`},
		"messages":     {`{"model":"m","messages":1}`, false, `"messages" is not`},
		"image":        {`{"model":"m","messages":[{"content":[{"type":"image_url"}]}]}`, true, `"messages[0].content[0].type" to be "image_url", only text`},
		"web search":   {`{"model":"m","messages":[],"web_search_options":{}}`, true, `"web_search_options"`},
		"prediction":   {`{"model":"m","messages":[],"prediction":{}}`, true, `"prediction"`},
		"priority":     {`{"model":"m","messages":[],"service_tier":"priority"}`, true, `"priority"`},
	} {
		_, err := parse(completions, []byte(tt.in), "", true)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, errUnbounded) != tt.unbounded {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzParse: whatever is accepted under a cap is sent as a JSON object with a limit, and all else
// that was in it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[]}`, `{"model":"m","messages":[{"content":[{"type":"text"}]}],"stream":true,"n":2}`,
		`{"model":"m","messages":[],"max_tokens":null,"stream":true,"stream_options":{}}`, ` {"model":"gpt-5","messages":null}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c, err := parse(completions, []byte(in), "", true)
		if err != nil {
			return
		}
		sent, err := topLevel(c.body)
		if err != nil {
			t.Fatalf("sent %s: %v", c.body, err)
		}
		if c.outputTokens < 1 || !given(sent, "max_tokens") && !given(sent, "max_completion_tokens") {
			t.Fatalf("no limit: %s", c.body)
		}
		before, err := topLevel([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for key := range before {
			if _, kept := sent[key]; !kept {
				t.Fatalf("%s lost key %q: %s", in, key, c.body)
			}
		}
	})
}

// TestDoneIsTheEnd checks that a stream is whole at [DONE], although the daemon or the provider
// disconnects right after it, and not whole before.
func TestDoneIsTheEnd(t *testing.T) {
	const text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	for body, whole := range map[string]bool{text: false, text + "data: [DONE]\n\n": true} {
		broken := io.MultiReader(strings.NewReader(body), iotest.ErrReader(context.Canceled))
		o := passStream(httptest.NewRecorder(), &call{}, broken)
		if o.ended != whole || o.broken == whole {
			t.Errorf("%q: ended %v, broken %v", body, o.ended, o.broken)
		}
	}
}
