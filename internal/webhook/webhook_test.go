package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "T0/s3cr3t-of-the-test"

// hookAt returns a hook at a server with the secret in its URL.
func hookAt(t *testing.T, answer http.HandlerFunc) *Hook {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	h, err := Parse(s.URL + "/services/" + secret + "?key=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "ftp://h/" + secret, "https://", "http:///" + secret, "hooks.example.com/" + secret, "http://a b/" + secret, "https://:443/" + secret, "%zz" + secret} {
		if _, err := Parse(text); err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", text, err)
		}
	}
	h, err := Parse("https://user:s3cr3t@hooks.example.com:8443/" + secret + "?a=" + secret)
	if err != nil || h.String() != "https://hooks.example.com:8443/…" {
		t.Error(err, h)
	}
}

// TestPost: some failures are tried again, and no error has the secret.
func TestPost(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []int // statuses; 0 ends the connection
		posts   int32
		err     string
	}{
		"delivered":      {[]int{200}, 1, ""},
		"second attempt": {[]int{503, 204}, 2, ""},
		"broken twice":   {[]int{0, 0}, 2, "tried twice: "},
		"fails twice":    {[]int{500, 502}, 2, "tried twice: the server answered 502 Bad Gateway"},
		"refused":        {[]int{404}, 1, "the server answered 404 Not Found"},
		"redirect":       {[]int{307}, 1, "the server redirects (307), which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			var posts atomic.Int32
			h := hookAt(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != `{"a":1}` || r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost {
					t.Errorf("%s %s %v", r.Method, body, err)
				}
				status := tt.answers[min(int(posts.Add(1)), len(tt.answers))-1]
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				if status == 307 {
					w.Header().Set("Location", "/elsewhere/"+secret)
				}
				w.WriteHeader(status)
			})
			err := h.Post(t.Context(), []byte(`{"a":1}`))
			if posts.Load() != tt.posts || (err == nil) != (tt.err == "") {
				t.Errorf("%d posts, %v", posts.Load(), err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cr3t")) {
				t.Error(err)
			}
		})
	}
}

// TestPostStalls: a server that does not answer is not tried again.
func TestPostStalls(t *testing.T) {
	var posts atomic.Int32
	h := hookAt(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
		<-r.Context().Done()
	})
	h.timeout = 20 * time.Millisecond
	if err := h.Post(context.Background(), []byte("{}")); err == nil || err.Error() != "no response within 20ms" || posts.Load() > 1 {
		t.Error(posts.Load(), err)
	}
}
