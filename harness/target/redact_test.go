package target

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
)

// TestTokenIsRedacted checks that a token that a daemon sends back is in neither answers nor
// errors.
func TestTokenIsRedacted(t *testing.T) {
	const token = "evk_s3cret/token+of=us"
	asJSON := `evk_s3cret\/token+of=us`
	type handler = func(w http.ResponseWriter, r *http.Request, c daemontest.Call)
	for name, answer := range map[string]handler{
		"problem": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w,
				`{"title":"Bad","detail":"`+r.Header.Get("Authorization")+` is wrong"}`)
		},
		"escaped": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"title":"Bad","detail":"`+asJSON+`"}`)
		},
		"media type": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			w.Header().Set("Content-Type", "text/"+token)
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		},
		"error event": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			daemontest.Stream(w, event("error",
				`{"code":"x","message":"`+r.Header.Get("Authorization")+`"}`))
		},
		"answer": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			daemontest.Stream(w,
				event("retrieve", `{"chunks":[{"chunk_id":"1","document_id":"`+token+`","score":1,`+
					`"preview":"`+token+`"}],"effective_mode":"`+token+`","fusion":{"method":"`+token+`"}}`)+
					event("answer_delta", `{"delta":"it is `+token[:9]+`"}`)+
					event("answer_delta", `{"delta":"`+token[9:]+` indeed"}`)+
					event("citation", `{"type":"citation","quote":"`+asJSON+`"}`)+
					event("done", `{"ok":true,"model":"`+token+`"}`))
		},
		"not HTTP": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, r.Header.Get("Authorization")+"\r\n\r\n")
			_ = conn.Close()
		},
		"status text": func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 "+token+"\r\nContent-Length: 0\r\n\r\n")
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := daemontest.New(t, answer)
			target := targetOf(t, s)
			target.Service = endpointOf(t, s, token)
			a, err := target.once(t.Context(), dataset.Question{Question: "who?"})
			text := ""
			if err != nil {
				text = err.Error()
			}
			data, _ := json.Marshal(a)
			text += string(data) + strings.ReplaceAll(string(data), `\/`, "/") +
				strings.ReplaceAll(string(data), `\\/`, "/")
			if strings.Contains(text, "s3cret") || !strings.Contains(text, "[token]") {
				t.Errorf("got %s, %v", data, err)
			}
			r := Request{Method: "DELETE", Path: BrainPath("eval")}
			res, err := endpointOf(t, s, token).Do(t.Context(), r)
			if err == nil {
				res.Body.Close()
			} else if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
	if got := NewRedactor(nil, "short").Text("a short answer"); got != "a short answer" {
		t.Errorf("got %q", got)
	}
}
