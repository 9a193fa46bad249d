package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

const trip = "/v1/brains/eval/sessions/trip"

func TestSessionOverHTTP(t *testing.T) {
	s := startFake(t)
	s.expect(t, 404, "GET", trip, "")
	var record protocol.SessionMessageRecord
	answer := s.expect(t, 201, "POST", trip+"/messages",
		`{"role":"user","content":"Hello","name":"Anna","metadata":{"actor_id":"a","skip_extract":true},"createdAt":"2023-05-08T13:00:00+02:00"}`, asJSON...)
	if err := json.Unmarshal([]byte(answer), &record); err != nil || record.CreatedAt != "2023-05-08T11:00:00.000Z" || record.SessionID != "trip" || record.Name != "Anna" {
		t.Errorf("%s: %v", answer, err)
	}
	if strings.Contains(answer, "metadata") || strings.Contains(answer, "actor_id") {
		t.Errorf("metadata is echoed: %s", answer)
	}
	answer = s.expect(t, 201, "POST", trip+"/messages/batch",
		`{"messages":[{"role":"assistant","content":"Hi","created_at":"2023-05-08T13:00:01+02:00","metadata":{"skip_extract":true}},{"role":"tool","content":"42","name":"sum","metadata":{"x":1,"skip_extract":true}}]}`, asJSON...)
	if list := decoded[protocol.SessionMessageList](t, answer); len(list.Messages) != 2 || list.Messages[1].Content != "42" || strings.Contains(answer, "metadata") {
		t.Errorf("%s", answer)
	}
	want := `{"id":"trip","status":"open","messages":3,"extracted":0,"created_at":"2024-05-01T12:00:00.123Z"}` + "\n"
	if got := s.expect(t, 200, "GET", trip, ""); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDeleteSessionOverHTTP(t *testing.T) {
	s := startFake(t)
	s.expect(t, 404, "DELETE", trip, "")
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"I have a brother in Lima.","metadata":{"skip_extract":true}}`, asJSON...)
	s.expect(t, 204, "DELETE", trip, "")
	s.expect(t, 404, "GET", trip, "")
	if got := s.expect(t, 200, "GET", "/v1/brains/eval/search?q=Lima", ""); strings.Contains(got, "Lima") && strings.Contains(got, "brother") {
		t.Errorf("a search finds %s", got)
	}
}

func TestRecallOverHTTP(t *testing.T) {
	s := startFake(t)
	s.put(t, "kettle.md", "The kettle cost 40 euros.")
	s.put(t, "lamp.md", "The lamp cost 40 euros.")
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"Let us talk about the lamp."}`)
	answer := s.expect(t, 200, "POST", trip+"/recall", `{"query":"how much did it cost","topK":1}`)
	if res := decoded[protocol.RecallResponse](t, answer); len(res.Chunks) != 1 || res.Chunks[0].Path != "lamp.md" {
		t.Errorf("%s", answer)
	}
	if got := s.expect(t, 200, "POST", trip+"/recall", `{"query":"nothing like it","scope":"agent"}`); got != "{\"chunks\":[],\"effective_mode\":\"bm25\"}\n" {
		t.Errorf("no hits: %s", got)
	}
	for _, body := range []string{`{}`, `{"query":""}`, `{"query":"x","top_k":0}`, `{"query":"x","top_k":51}`, `{"query":"x","scope":"raw"}`} {
		if got := s.expect(t, 400, "POST", trip+"/recall", body); !strings.Contains(got, protocol.CodeValidation) {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestReflectOverHTTP(t *testing.T) {
	s := startFake(t)
	if got := s.expect(t, 200, "POST", trip+"/reflect", ""); got != `{"reflection_status":"no_result","reflection_attempted":false,"session_id":"trip"}`+"\n" {
		t.Error(got)
	}
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"We decided to buy the blue kettle for 40 euros tomorrow."}`)
	first := s.expect(t, 200, "POST", trip+"/reflect", "")
	res := decoded[protocol.ReflectResponse](t, first)
	if res.ReflectionStatus != protocol.ReflectionCompleted || !res.ReflectionAttempted ||
		res.EndedAt != "2024-05-01T12:00:00.123Z" || res.Reflection == nil || res.Reflection.Outcome == "" {
		t.Errorf("%s", first)
	}
	if again := s.expect(t, 200, "POST", trip+"/reflect", ""); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	if got := s.expect(t, 409, "POST", trip+"/messages", `{"role":"user","content":"x"}`); !strings.Contains(got, protocol.CodeConflict) {
		t.Error(got)
	}
	s.expect(t, 400, "POST", "/v1/brains/eval/sessions/%00/reflect", "")
	if path := res.Reflection.Path; path != "" {
		s.expect(t, 200, "GET", records+"/"+url.PathEscape(path), "")
	}
}

// TestSessionSegments: the id in the URL is any escaped text, and each id is a session of its own.
func TestSessionSegments(t *testing.T) {
	s := startFake(t)
	for _, id := range []string{"..", ".", "_x", "a/b", "a/../../b", "A", "a", "ä", "%2e", "messages", "?q", "#", "a b+c", `a\b`} {
		segment := url.PathEscape(id)
		if strings.Trim(id, ".") == "" {
			segment = strings.ReplaceAll(id, ".", "%2E")
		}
		target := "/v1/brains/eval/sessions/" + segment
		body := string(encode(protocol.SessionMessage{Role: "user", Content: id}))
		s.expect(t, 201, "POST", target+"/messages", body)
		s.expect(t, 201, "POST", target+"/messages/batch", `{"messages":[`+body+`]}`)
		if session := decoded[protocol.Session](t, s.expect(t, 200, "GET", target, "")); session.ID != id || session.Messages != 2 {
			t.Errorf("%q: %+v", id, session)
		}
	}
	for _, segment := range []string{"a%00b", "%0A", "%FF", "%20", strings.Repeat("a", 129)} {
		s.expect(t, 400, "POST", "/v1/brains/eval/sessions/"+segment+"/messages", `{"role":"user","content":"x"}`)
		s.expect(t, 400, "GET", "/v1/brains/eval/sessions/"+segment, "")
	}
}

func TestSessionLimitsOverHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	s := startFake(t)
	message := func(content string) string { return `{"role":"user","content":"` + content + `"}` }
	batch := func(n int) string {
		return `{"messages":[` + strings.TrimSuffix(strings.Repeat(message("x")+",", n), ",") + `]}`
	}
	for name, tt := range map[string]struct {
		status         int
		endpoint, body string
	}{
		"longest content":   {201, "", message(strings.Repeat("ä", protocol.MaxMessageContent))},
		"escaped":           {201, "", message(strings.Repeat(`\ud83d\ude00`, protocol.MaxMessageContent))},
		"long content":      {413, "", message(strings.Repeat("ä", protocol.MaxMessageContent+1))},
		"long body":         {413, "", strings.Repeat(" ", maxMessageBody+1)},
		"no content":        {400, "", `{"role":"user"}`},
		"null content":      {400, "", `{"role":"user","content":null}`},
		"number as content": {400, "", `{"role":"user","content":1}`},
		"bad role":          {400, "", `{"role":"root","content":"x"}`},
		"no body":           {400, "", ``},
		"list":              {400, "", `[` + message("x") + `]`},
		"metadata is text":  {400, "", `{"role":"user","content":"x","metadata":"y"}`},
		"nested metadata":   {400, "", `{"role":"user","content":"x","metadata":{"a":{}}}`},
		"long number":       {201, "", `{"role":"user","content":"x","metadata":{"id":1234567890123456789}}`},
		"endless number":    {400, "", `{"role":"user","content":"x","metadata":{"id":1e999}}`},
		"bad time":          {400, "", `{"role":"user","content":"x","created_at":"yesterday"}`},
		"two contents":      {400, "", `{"role":"user","content":"x","content":"y"}`},
		"most messages":     {201, "/batch", batch(protocol.MaxSessionMessages)},
		"too many messages": {400, "/batch", batch(protocol.MaxSessionMessages + 1)},
		"empty batch":       {400, "/batch", `{"messages":[]}`},
		"no messages":       {400, "/batch", `{}`},
		"null messages":     {400, "/batch", `{"messages":null}`},
		"object":            {400, "/batch", `{"messages":{}}`},
		"null in batch":     {400, "/batch", `{"messages":[null]}`},
		"one is bad":        {400, "/batch", `{"messages":[` + message("x") + `,` + message("") + `]}`},
		"long batch":        {413, "/batch", strings.Repeat(" ", maxMessagesBody+1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := "/v1/brains/eval/sessions/" + url.PathEscape(name)
			answer := s.expect(t, tt.status, "POST", target+"/messages"+tt.endpoint, tt.body)
			want := map[int]string{400: protocol.CodeValidation, 413: protocol.CodePayloadTooLarge}[tt.status]
			if !strings.Contains(answer, fmt.Sprintf(`"code":%q`, want)) && want != "" {
				t.Errorf("%.300s", answer)
			}
			got := s.status(t, "GET", target, "")
			if stored := got == http.StatusOK; stored != (tt.status == 201) {
				t.Errorf("the session exists: %v", stored)
			}
		})
	}
	s.expect(t, 415, "POST", trip+"/messages", message("x"), "Content-Type", "text/plain")
	s.expect(t, 405, "GET", trip+"/messages", "")
	answer := s.expect(t, 400, "POST", trip+"/messages/batch", `{"messages":[`+message("x")+`,{"role":1}]}`)
	if !strings.Contains(answer, "message 1: role must be a string") {
		t.Error(answer)
	}
}
