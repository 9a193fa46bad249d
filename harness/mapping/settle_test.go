package mapping

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

const readyMapping = `name: x
remember: {tool: add, arguments: {t: '{text}'}}
ready: {tool: status, within: 1m, until: {at: $.p, is: 1.0}}
search: {tool: find, arguments: {q: '{query}'}, reply: {items: '$[*]', text: $}}
`

// lateStatus is what is found out about a service that was not ready within a minute.
var lateStatus = []string{"status did not say within 1m0s that the written texts are ready, and they were searched nevertheless"}

// searchAfterWrite writes a text and searches for it.
func searchAfterWrite(t *testing.T, s *Service) {
	t.Helper()
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", memoDocs(1), 1); err != nil {
		t.Fatal(err)
	}
	if got, err := st.Search(t.Context(), "b", "Note", 4); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestStatusWithoutAnAnswer has a service that never answers whether it is ready: it counts as
// not ready, and is searched.
func TestStatusWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeService(t, readyMapping, func(ctx context.Context, o *operation, _ map[string]any) (callReply, error) {
			if o.name != "ready" {
				return says(`["Note 0."]`)
			}
			<-ctx.Done()
			return callReply{}, context.Cause(ctx)
		})
		searchAfterWrite(t, s)
		if diff := cmp.Diff(lateStatus, s.Seen().Findings); diff != "" {
			t.Error(diff)
		}
	})
}

// TestStatusHangs is TestStatusWithoutAnAnswer over HTTP.
func TestStatusHangs(t *testing.T) {
	m := &memo{}
	hangs := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			<-r.Context().Done()
			return
		}
		m.ServeHTTP(w, r)
	})
	s := openMemo(t, m, memoMapping)
	web := httptest.NewServer(hangs)
	defer web.Close()
	if err := s.Reach(web.URL); err != nil {
		t.Fatal(err)
	}
	searchAfterWrite(t, s)
	want := []string{"GET /status did not say within 200ms that the written texts are ready, and they were searched nevertheless"}
	if diff := cmp.Diff(want, s.Seen().Findings); diff != "" {
		t.Error(diff)
	}
}

// TestBusyStatus has a service that asks for a wait before it is asked again.
func TestBusyStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, want := range map[time.Duration]int{25 * time.Second: 4, time.Hour: 2} { // the last at the end of the minute
			asked := 0
			s := fakeService(t, readyMapping, func(_ context.Context, o *operation, _ map[string]any) (callReply, error) {
				if o.name != "ready" {
					return says(`["Note 0."]`)
				}
				asked++
				return callReply{}, target.TransientFailure(result.KindStatus, "429", wait)
			})
			began := time.Now()
			searchAfterWrite(t, s)
			if took := time.Since(began); asked != want || took != time.Minute {
				t.Errorf("asked %d times in %v, with %v between", asked, took, wait)
			}
			if diff := cmp.Diff(lateStatus, s.Seen().Findings); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// TestFinishInALoadTest has a service that is too busy to finish its index at first. A load test
// makes one attempt for each request, but finish belongs to the writes before it.
func TestFinishInALoadTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := fakeService(t, readyMapping+"finish: {tool: index}\n", func(_ context.Context, o *operation, _ map[string]any) (callReply, error) {
			switch o.name {
			case "finish":
				if asked++; asked == 1 {
					f := target.TransientFailure(result.KindStatus, "503", 0)
					f.Status = http.StatusServiceUnavailable
					return callReply{}, f
				}
			case "ready":
				return says(`{"p": 1}`)
			}
			return says(`["Note 0."]`)
		})
		st := create(t, s, "b")
		ctx := target.WithoutRetries(t.Context())
		if err := st.Write(ctx, "b", memoDocs(1), 1); err != nil {
			t.Fatal(err)
		}
		if got, err := st.Search(ctx, "b", "Note", 4); err != nil || len(got) != 1 || asked != 2 {
			t.Errorf("finished %d times: %v, %v", asked, got, err)
		}
	})
}

// TestReadyValues checks which values of a reply are the one that is waited for: numbers are
// equal however they are written.
func TestReadyValues(t *testing.T) {
	for _, c := range []struct {
		is, value string
		want      bool
	}{
		{"1.0", "1.0", true}, {"1", "1.0", true}, {"1e0", "1.0", true}, {"1.0", "1", true}, {"100", "1e2", true}, {"0x10", "16", true},
		{"1", "1.1", false}, {"1", `"1"`, false}, {`"1"`, "1", false}, {"1", "true", false},
		{"9007199254740992", "9007199254740993", false}, {"9007199254740993", "9007199254740993", true},
		{"false", "false", true}, {"false", "null", false}, {"null", "null", true}, {"2024-07-01", `"2024-07-01"`, true},
		{"[1.0, a]", `[1, "a"]`, true}, {"[1.0, a]", `[1, "a", 2]`, false}, {"{a: {b: 1.0}}", `{"a": {"b": 1}}`, true}, {"{a: 1}", `{"b": 1}`, false},
		{"{a: 1}", "1", false}, {"[1]", "1", false},
	} {
		m := parsed(t, `name: x
remember: {tool: add, arguments: {t: '{text}'}}
ready: {tool: status, until: {at: $.p, is: `+c.is+`}}
search: {tool: find, arguments: {q: '{query}'}, reply: {items: '$[*]', text: $}}
`)
		got, _, err := m.ready.holds(callReply{texts: []string{`{"p": ` + c.value + `}`}})
		if err != nil || got != c.want {
			t.Errorf("is %s, and the reply has %s: %v, %v", c.is, c.value, got, err)
		}
	}
}
