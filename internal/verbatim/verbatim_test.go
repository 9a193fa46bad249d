package verbatim_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"evalctl/internal/verbatim"
)

// values are JSON values that a library may change: numbers that no float64 is, numbers in other
// spellings, and strings with escapes.
var values = []string{
	`0`, `-1`, `1`, `1.0`, `3.5`, `1e3`, `1E+3`, `-0`, `9007199254740993`, `-9007199254740993`,
	`1764338400123456789`, `9223372036854775807`, `9223372036854775808`, `18446744073709551616`, `1e400`,
	`""`, `"a"`, `"1"`, `"\u0061"`, `"\ud800"`, `"\""`, `"<&>"`, `"\u2028"`, `"é\/"`, "\"\u2028\"",
}

// TestIDs passes calls through the library, which answers each.
func TestIDs(t *testing.T) {
	for _, id := range values {
		for _, sent := range []string{
			`{"jsonrpc":"2.0","id":%s,"method":"ping"}`,
			`{ "method" : "ping" , "params" : {"a":1} , "id" : %s , "jsonrpc" : "2.0" }`,
			`{"id":true,"jsonrpc":"2.0","method":"ping","id":%s}`,
		} {
			sent = fmt.Sprintf(sent, id)
			message, err := jsonrpc.DecodeMessage(verbatim.Incoming([]byte(sent)))
			if err != nil {
				t.Errorf("%s: %v", sent, err)
				continue
			}
			reply, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: message.(*jsonrpc.Request).ID, Result: json.RawMessage(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(verbatim.Outgoing(reply)), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
				t.Errorf("%s: got %s, want %s", sent, got, want)
			}
		}
	}
}

// TestParams: the id that a cancellation names is that of the call, and a token that is a number is
// a text.
func TestParams(t *testing.T) {
	for _, value := range values {
		for format, is := range map[string]func(json.RawMessage) (json.RawMessage, bool){
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"x","requestId":%s}}`: func(params json.RawMessage) (json.RawMessage, bool) {
				var p struct{ RequestID string }
				_ = json.Unmarshal(params, &p)
				return verbatim.Value(p.RequestID)
			},
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"other":1.50,"progressToken":%s}}}`: func(params json.RawMessage) (json.RawMessage, bool) {
				var p struct {
					Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
				}
				_ = json.Unmarshal(params, &p)
				if value[0] == '"' {
					return p.Meta.ProgressToken, true
				}
				var text string
				_ = json.Unmarshal(p.Meta.ProgressToken, &text)
				return verbatim.Value(text)
			},
		} {
			sent := fmt.Sprintf(format, value)
			message, err := jsonrpc.DecodeMessage(verbatim.Incoming([]byte(sent)))
			if err != nil {
				t.Errorf("%s: %v", sent, err)
				continue
			}
			if got, ok := is(message.(*jsonrpc.Request).Params); !ok || string(got) != value {
				t.Errorf("%s: got %s", sent, got)
			}
		}
	}
}

// TestAllTexts: every text of a message is replaced, but not a part of another text.
func TestAllTexts(t *testing.T) {
	for _, value := range values {
		text, _ := json.Marshal(verbatim.Text(json.RawMessage(value)))
		quoted, _ := json.Marshal("no call " + string(text) + " runs")
		const format = `{"id":%[1]s,"result":{"_meta":{"a":[%[1]s, %[1]s],"b":%[1]s},"c":%[2]s}}`
		got := string(verbatim.Outgoing(fmt.Appendf(nil, format, text, quoted)))
		if want := fmt.Sprintf(format, value, quoted); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

// TestOthers: what has no such value is returned as it is.
func TestOthers(t *testing.T) {
	for _, message := range []string{
		``, `x`, `5`, `[]`, `{}`, `{"id":9007199254740993}`, `{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}`,
		`{"id":null,"method":"x"}`, `{"id":true,"method":"x"}`, `{"id":[1],"method":"x"}`, `{"id":{},"method":"x"}`,
		`{"method":"notifications/cancelled"}`, `{"method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"method":"x","params":{"_meta":{"progressToken":"a"}}}`, `{"method":"x","params":[1]}`,
	} {
		if got := string(verbatim.Incoming([]byte(message))); got != message {
			t.Errorf("%s became %s", message, got)
		}
		if got := string(verbatim.Outgoing([]byte(message))); got != message {
			t.Errorf("out: %s became %s", message, got)
		}
	}
	if _, ok := verbatim.Value("verbatim-x:1"); ok {
		t.Error("another text stands for a value")
	}
}

func FuzzIncoming(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"x","params":{"_meta":{"progressToken":5}}}`))
	f.Add([]byte(`{"method":"notifications/cancelled","params":{"requestId":7}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := verbatim.Incoming(data)
		if json.Valid(data) && !json.Valid(got) {
			t.Fatalf("%s became %s", data, got)
		}
		verbatim.Outgoing(got)
	})
}
