package mcpclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/mcpclient"
)

// TestResults: the parts of a result that are read are the server's own, whatever is beside them. A
// result in another form is a reply, and not the end of the connection.
func TestResults(t *testing.T) {
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	for _, tc := range []struct {
		result, structured string
		texts              []string
		failure, refused   string
	}{
		{result: `{"content":[` + text("a") + `],"structuredContent":{"id":9007199254740993,"cost": 1.10,"t":"<"}}`,
			structured: `{"id":9007199254740993,"cost": 1.10,"t":"<"}`, texts: []string{"a"}},
		{result: `{"structuredContent":[1e400],"isError":false}`, structured: `[1e400]`},
		{result: `{"content":[{"type":"future","text":"x"},` + text("a") + `,{"type":"text"}],"structuredContent":null}`, texts: []string{"a"}},
		{result: `{"content":null}`}, {result: `{}`}, {result: `{"Content":"x"}`},
		{result: `{"isError":true}`, failure: "it gives no reason"},
		{result: `{"content":[],"isError":true}`, failure: "it gives no reason"},
		{result: `{"content":[` + text("Error") + `,` + text("it is locked") + `],"isError":true}`, texts: []string{"Error", "it is locked"}, failure: "Error\nit is locked"},
		{result: `{"content":"x"}`, refused: "content is not a list"},
		{result: `{"content":["x"]}`, refused: "content is not a list of objects"},
		{result: `{"content":[],"isError":"true"}`, refused: "isError is not a truth value"},
		{result: `[]`, refused: "it cannot be decoded"}, {result: `"x"`, refused: "it cannot be decoded"},
	} {
		c := answers(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":2,"result":%s}`, tc.result)
		})
		r, err := c.Call(t.Context(), "x", nil, nil)
		e, refused := errors.AsType[*mcpclient.Error](err)
		if tc.refused != "" {
			if !refused || e.Code != mcpclient.CodeRefused || e.Aborted || !strings.Contains(e.Message, tc.refused) {
				t.Errorf("%s: %v", tc.result, err)
			}
			continue
		}
		failure := ""
		if r.Failure != nil {
			failure = r.Failure.Message
		}
		if err != nil || string(r.Structured) != tc.structured || !slices.Equal(r.Texts, tc.texts) || failure != tc.failure {
			t.Errorf("%s: %+v, %s, %v", tc.result, r, failure, err)
		}
	}
}
