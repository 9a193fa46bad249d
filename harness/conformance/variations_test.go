package conformance

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/protocol"
	ct "evalctl/harness/conformance/conformancetest"
)

// A daemon may vary in what the specification leaves open without failing a MUST.
func TestPermittedVariations(t *testing.T) {
	t.Parallel()
	for n, tt := range []struct {
		name string
		wrap wrapper
		only []string
		may  []string // SHOULDs that may fail
	}{
		{"strict limits", replace(func(r *http.Request) bool { return r.ContentLength > 1<<20 }, reject(413)),
			[]string{"limits-put-*", "limits-append-*", "limits-batch-*", "limits-413-*"},
			[]string{"limits-put-2mib-204", "limits-append-2mib-204", "limits-append-document-grows",
				"limits-batch-8mib-200", "limits-413-code"}},
		{"generated files of its own", generatedFile("_index.md"), []string{"listing-[^m]*", "events", "search-only-documents"}, nil},
		{"no large listings", after(route("GET /documents"), func(_ *http.Request, a *captured) {
			if strings.Count(a.Body.String(), `"path"`) > 500 {
				a.ReplaceWith(413, `{"title":"Too many"}`)
			}
		}), []string{"listing-many*"}, nil},
		{"no content encodings", replace(withHeader("Content-Encoding"), reject(415)), []string{"limits-gzip*"}, nil},
		{"a limit of 64 MiB", largeLimit(), []string{"limits-gzip*"}, nil},
		{"delayed index", delayedIndex(), []string{"search", "ask"}, nil},
		{"ids that are not slugs", prefixedIDs("brn_"), []string{"evaluable"}, nil},
		{"other Problem bodies", after(notEventStream, func(_ *http.Request, a *captured) {
			if a.Failed() {
				a.Header().Set("Content-Type", "application/json; charset=utf-8")
				a.SetText(`{"title":"Nope","trace":["x"]}`)
			}
		}), []string{"errors", "batch-*-400", "paths-put-*"}, []string{"errors-*"}},
		{"additional fields", after(notEventStream, func(_ *http.Request, a *captured) {
			if !a.Failed() {
				a.Edit(func(o map[string]any) { o["extra_field"] = map[string]any{"a": 1} })
			}
		}), []string{"documents-stat-*", "listing-entry-*", "batch-committed", "search-finds"},
			[]string{"listing-entry-as-stat"}},
		{"additional Cache-Control directives",
			after(anyRoute("GET /documents/read", "GET /documents"), func(r *http.Request, a *captured) {
				a.Header().Set("Cache-Control", "private, No-Store, max-age=0")
			}), []string{"headers-read-*", "headers-listing-*"}, nil},
		{"busy stream", rewriteStream(route("GET /events"), perFrame(func(f frame) []frame {
			n, _ := strconv.Atoi(f.id)
			return []frame{{strconv.Itoa(2 * n), f.name, f.data}, {strconv.Itoa(2*n + 1), protocol.EventPing, protocol.PingData}}
		})), []string{"events"}, nil},
		{"batches fail with 400", after(route("POST /documents/batch-ops"), changeStatus(404, 400)),
			[]string{"batch-*"}, nil},
		{"batches fail with 409", after(route("POST /documents/batch-ops"), changeStatus(404, 409)),
			[]string{"batch-*"}, nil},
		{"JSON-RPC errors with a code in their data", rpcErrors(func(code string) object {
			return object{"code": -32000, "message": "no", "data": object{"code": code, "message": "no"}}
		}), []string{"mcp"}, nil},
		{"JSON-RPC errors with a code in their message", rpcErrors(func(code string) object {
			return object{"code": -32000, "message": code + ": no"}
		}), []string{"mcp"}, nil},
		{"hits below a heading, each on one line", editText("memory_search", func(s string) string {
			return "Hits:\n" + strings.ReplaceAll(s, ".md\n", ".md: ")
		}), []string{"mcp-search-*"}, nil},
		{"rate limit", replace(route("GET /documents/stat"), reject(429)), []string{"documents-stat-*"}, nil},
		{"asks need a query", replace(func(r *http.Request) bool { return route("POST /ask")(r) && bodyObject(r)["query"] == nil }, reject(400)),
			[]string{"limits-ask-*", "auth-*ask*"}, nil},
		{"no citations", rewriteStream(route("POST /ask"), perFrame(func(f frame) []frame {
			if f.name == protocol.EventCitation {
				return nil
			}
			return []frame{f}
		})), []string{"ask"}, nil},
		{"failing reader", rewriteStream(route("POST /ask"), perFrame(func(f frame) []frame {
			switch f.name {
			case protocol.EventRetrieve:
				return []frame{f,
					{"", protocol.EventError, `{"code":"bad_gateway","message":"no model","retryable":true}`}}
			default:
				return nil
			}
		})), []string{"ask"}, []string{"ask-done", "ask-answers"}},
	} {
		if testing.Short() && n%4 != 0 {
			continue // a few show what is concurrent
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only = tt.only
			r := run(t, o)
			for _, res := range r.Results {
				if res.Verdict == Broken && (res.Level == Must || !matchesAny(tt.may, res.ID)) {
					t.Errorf("%s %s: %s [%s]", res.Level, res.ID, res.Detail, res.Request)
				}
			}
			if tt.name == "rate limit" && r.NotJudged() != len(r.Results) {
				t.Errorf("%d of %d checks were skipped", r.NotJudged(), len(r.Results))
			}
		})
	}
}

// largeLimit keeps what gzip bodies decompress to, of any size.
func largeLimit() wrapper {
	var stored sync.Map // by the brain
	brain := func(r *http.Request) string { return strings.Split(r.URL.Path, "/")[3] }
	puts := replace(and(route("PUT /documents"), withHeader("Content-Encoding")), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text, _ := io.ReadAll(body)
		stored.Store(brain(r), text)
		w.WriteHeader(http.StatusNoContent)
	})
	reads := replace(route("GET /documents/read"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if text, ok := stored.Load(brain(r)); ok && r.URL.Query().Get("path") == "a.md" {
			_, _ = w.Write(text.([]byte))
			return
		}
		next.ServeHTTP(w, r)
	})
	return func(next http.Handler) http.Handler { return puts(reads(next)) }
}

// generatedFile adds a generated file to each brain. It is updated after each other change.
func generatedFile(p string) wrapper {
	listed, changed := ct.Generated(p), rewriteStream(eventsRoute, perFrame(func(f frame) []frame {
		n, _ := strconv.Atoi(f.id)
		f.id = strconv.Itoa(2 * n)
		o, err := f.object()
		if f.name != protocol.EventChange || err != nil {
			return []frame{f}
		}
		update := encode(object{"kind": "updated", "path": p, "when": o["when"]})
		return []frame{f, {strconv.Itoa(2*n + 1), protocol.EventChange, string(update)}}
	}))
	return func(next http.Handler) http.Handler { return listed(changed(next)) }
}

// rpcErrors replaces the results of failed calls with JSON-RPC errors.
func rpcErrors(of func(code string) object) wrapper {
	return editMessages(calls(""), func(_ toolCall, msg map[string]any) []map[string]any {
		if result := resultOf(msg); result["isError"] == true {
			failure, _ := result["structuredContent"].(map[string]any)
			delete(msg, "result")
			msg["error"] = of(textOf(failure, "code"))
		}
		return []map[string]any{msg}
	})
}

// prefixedIDs has a prefix before the id of each brain.
func prefixedIDs(prefix string) wrapper {
	created := after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, func(_ *http.Request, a *captured) {
		a.ReplaceText(`"id":"`, `"id":"`+prefix)
	})
	addressed := before(anyRequest, func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "/v1/brains/"+prefix, "/v1/brains/", 1)
	})
	return func(next http.Handler) http.Handler { return addressed(created(next)) }
}

// delayedIndex returns no results for the first two searches of a brain after a write.
func delayedIndex() wrapper {
	var mu sync.Mutex
	behind := map[string]int{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			parts := strings.SplitN(r.URL.Path, "/", 5)
			mu.Lock()
			if len(parts) == 5 && strings.HasPrefix(parts[4], "documents") && r.Method != http.MethodGet {
				behind[parts[3]] = 2
			}
			late := route("POST /search")(r) && behind[parts[3]] > 0
			if late {
				behind[parts[3]]--
			}
			mu.Unlock()
			if late && !strings.Contains(readBody(r), `"top_k":-`) {
				a := capture(next, r)
				a.Edit(func(o map[string]any) {
					if _, ok := o["chunks"]; ok {
						o["chunks"] = []any{}
					}
				})
				a.Send(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// The reference daemon passes the slow check, which is skipped without Options.Slow.
func TestReferenceDaemonPings(t *testing.T) {
	url := serveConfig(t, daemon.Config{Options: httpapi.Options{PingInterval: 10 * time.Millisecond}}, unbroken)
	for slow, want := range map[bool]Verdict{true: Kept, false: NotJudged} {
		r := run(t, Options{Endpoint: url, Only: []string{"events-ping"}, Slow: slow})
		if len(r.Results) != 1 || r.Results[0].Verdict != want {
			t.Errorf("slow %v: got %+v", slow, r.Results)
		}
	}
}

// The slow check waits for the next frame, which must be a ping.
func TestPing(t *testing.T) {
	for _, tt := range []struct {
		frame string
		want  Verdict
	}{
		{"id: 2\nevent: ping\ndata: keepalive\n\n", Kept},
		{"id: 2\nevent: ping\ndata: alive\n\n", Broken},
		{"id: 1\nevent: ping\ndata: keepalive\n\n", Broken},
		{"event: ping\ndata: keepalive\n\n", Broken},
		{": a comment is not a ping\n\nevent: change\ndata: {}\n\n", Broken},
	} {
		pinging := replace(route("GET /events"), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", protocol.TypeEvents)
			_, _ = io.WriteString(w, "id: 1\nevent: ready\ndata: ok\n\n"+tt.frame)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		o := authOptions(serve(t, keys(t), pinging))
		o.Only, o.Slow = []string{"events-ping"}, true
		if r := run(t, o); len(r.Results) != 1 || r.Results[0].Verdict != tt.want {
			t.Errorf("%q: got %+v", tt.frame, r.Results)
		}
	}
}
