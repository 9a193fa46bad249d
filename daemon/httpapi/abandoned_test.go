package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// facts returns the text of all facts of transcripts.
func (s *server) facts(t *testing.T) string {
	t.Helper()
	st, texts := s.open(t, "eval"), ""
	const folder = "memory/agent/facts/documents"
	files, err := st.List(t.Context(), folder, store.ListOptions{Recursive: true})
	if err != nil && !store.IsNotFound(err) {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := st.Read(t.Context(), path.Clean(f.Path))
		if err != nil && !store.IsNotFound(err) {
			t.Fatal(err)
		}
		texts += string(data)
	}
	return texts
}

// TestClientGoneDuringCommit: facts of earlier transcripts are deleted, and facts of the present
// ones extracted, even if the client goes away while its change is committed.
func TestClientGoneDuringCommit(t *testing.T) {
	const (
		docs  = "/v1/brains/eval/documents"
		lima  = "---\nsource: extract\n---\nI have a brother in Lima."
		paris = "---\nsource: extract\n---\nI have a sister in Paris."
	)
	for name, tt := range map[string]struct{ method, target, contentType, body, gone, present string }{
		"write":  {"PUT", docs + "?path=talk.md", protocol.TypeBytes, paris, "Lima", "Paris"},
		"rename": {"POST", docs + "/rename", protocol.TypeJSON, `{"from":"talk.md","to":"moved.md"}`, "talk.md", "moved.md"},
		"batch": {"POST", docs + "/batch-ops", protocol.TypeJSON, `{"reason":"r","ops":[{"type":"write","path":"talk.md","content_base64":"` +
			base64.StdEncoding.EncodeToString([]byte(paris)) + `"}]}`, "Lima", "Paris"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startFake(t)
			s.put(t, "talk.md", lima)
			awaittest.Until(t, "the first facts", func() bool { return strings.Contains(s.facts(t), tt.gone) })
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			defer s.open(t, "eval").Subscribe(func(store.ChangeEvent) { leave() })()
			r := httptest.NewRequestWithContext(ctx, tt.method, tt.target, strings.NewReader(tt.body))
			r.Host = strings.TrimPrefix(s.url, "http://")
			r.Header.Set("Content-Type", tt.contentType)
			w := httptest.NewRecorder()
			s.api.ServeHTTP(w, r)
			if ctx.Err() == nil || w.Code >= http.StatusBadRequest {
				t.Fatalf("the client is gone: %v; got %d %s", ctx.Err(), w.Code, w.Body)
			}
			awaittest.Until(t, "the facts of the present text", func() bool {
				return strings.Contains(s.facts(t), tt.present)
			})
			if strings.Contains(s.facts(t), tt.gone) {
				t.Errorf("earlier facts are still there: %s", s.facts(t))
			}
		})
	}
}
