package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"evalctl/daemon/client"
	"evalctl/internal/jsonobj"
)

// FuzzTranslate translates responses. The result of JSON is JSON, and has no further translation.
func FuzzTranslate(f *testing.F) {
	for _, answer := range dialects {
		f.Add("search", []byte(answer))
	}
	f.Add("brains", []byte(`{"items":[{"brainId":"one"},{"brain_id":5},null]}`))
	f.Add("recall", []byte(`{"hits":null,"chunks":[{"aB":1,"a_b":2,"AB":3}]}`))
	f.Fuzz(func(t *testing.T, endpoint string, data []byte) {
		once := translateValue(endpoint, bytes.Clone(data))
		if json.Valid(data) && !json.Valid(once) {
			t.Fatalf("%s became %s", data, once)
		}
		if twice := translateValue(endpoint, bytes.Clone(once)); json.Valid(data) && !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s and then %s", data, once, twice)
		}
	})
}

// FuzzTranslateEvent translates events. The data is one line of JSON.
func FuzzTranslateEvent(f *testing.F) {
	for name, data := range map[string]string{
		"retrieve": `{"chunks":[{"Text":"x"},1]}`, "token": `{"token":"x"}`, "answer_delta": `{"delta":5,"text":"x"}`,
		"citation": `{"chunkId":"c"}`, "done": `{"answer":"x"}`, "error": `{"message":"x"}`, "other": "two\nlines",
	} {
		f.Add(name, []byte(data))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		_, translated, err := translateEvent(name, data, new(jsonobj.Pieces))
		if err == nil && (!json.Valid(translated) || bytes.ContainsAny(translated, "\r\n")) {
			t.Fatalf("%s %s became %s", name, data, translated)
		}
	})
}

// FuzzParseArguments parses the arguments of every tool. An error is one for the caller.
func FuzzParseArguments(f *testing.F) {
	f.Add([]byte(`{"query":"x","top_k":5}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"x"}],"session_id":"s"}`))
	f.Add([]byte(`{"name":"x","slug":"x","visibility":"public"}`))
	f.Add([]byte(`{"query":"x","top_k":1e400}`))
	f.Add([]byte(`"{\"topK\":\"5\",\"Top_K\":5,\"tags\":\"[1]\",\"messages\":{}}"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, d := range definitions() {
			args, _, err := parseArguments(data, d.input)
			if _, ok := errors.AsType[*toolError](err); err != nil && !ok {
				t.Fatalf("%s: %v", name, err)
			}
			if err == nil && args == nil {
				t.Fatalf("%s: no arguments", name)
			}
		}
	})
}

// FuzzServeStdio sends any input. Every line of the output is JSON, and the server ends with its
// input.
func FuzzServeStdio(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n[]\nx\n{\"id\":null}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"memory_list_brains","_meta":{"progressToken":[1]}}}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"))
	c, err := client.New("http://127.0.0.1:1", nil) // refuses connections
	if err != nil {
		f.Fatal(err)
	}
	s, err := New(Config{Client: c})
	if err != nil {
		f.Fatal(err)
	}
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), io.MultiReader(strings.NewReader(initialize), bytes.NewReader(data)), &out); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("%q: %q", data, line)
			}
		}
	})
}
