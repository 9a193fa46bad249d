package mcpserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTokensAreVerbatim gives tokens that a float64 would change, and values that are no tokens.
func TestTokensAreVerbatim(t *testing.T) {
	url := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: answer_delta\ndata: {\"delta\":\"Tea\"}\n\nevent: done\ndata: {\"ok\":true,\"answer\":\"Tea\"}\n\n")
	})
	// The daemon of the test does not add the header that the SDK wants.
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: accepting{transport}}
	over := map[string]func(message string) string{
		"stdio": func(message string) string { return strings.Join(exchange(t, url, message+"\n"), "\n") },
		"http": func(message string) string {
			res, err := web.Post(url+"/mcp", "application/json", strings.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		},
	}
	for transport, send := range over {
		for token, sent := range map[string]bool{
			`0`: true, `7`: true, `-3`: true, `1.50`: true, `1e3`: true, `9007199254740993`: true,
			`12345678901234567890`: true, `"7"`: true, `"a \"b\" é"`: true, `"12345678901234567890"`: true,
			`""`: false, `null`: false, `true`: false, `[1]`: false, `{"a":1}`: false,
		} {
			got := send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_ask","_meta":{"other":1.50,"progressToken":` +
				token + `},"arguments":{"query":"x"}}}`)
			if !strings.Contains(got, `"answer":"Tea"`) {
				t.Errorf("%s, token %s: got %s", transport, token, got)
			}
			if strings.Contains(got, `"progressToken":`+token+`,`) != sent || strings.Contains(got, "notifications/progress") != sent {
				t.Errorf("%s, token %s: got %s", transport, token, got)
			}
		}
	}
}

// accepting sets the header Accept.
type accepting struct{ http.RoundTripper }

func (a accepting) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("Accept", "application/json, text/event-stream")
	return a.RoundTripper.RoundTrip(req)
}
