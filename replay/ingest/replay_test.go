package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/sharedtest"
	"evalctl/replay/source"
)

// TestMessages checks what of a session is sent, and when each message was written.
func TestMessages(t *testing.T) {
	s := source.Session{Date: "2023-05-22T23:59:57Z", Turns: []source.Turn{
		{Role: "user", Name: "Ann", Text: "a"}, {Role: "assistant", Text: " \n"},
		{Role: "assistant", Name: strings.Repeat("é", 200), Text: "b"},
		{Role: "user", Text: "c"}, {Role: "user", Text: "d"}, {Role: "user", Text: "e"},
	}}
	var got []string
	for _, m := range messagesOf(s) {
		got = append(got, m.at.Format(time.TimeOnly)+" "+m.role+" "+m.name+" "+m.text)
	}
	want := []string{
		"23:59:57 user Ann a", "23:59:58 assistant " + strings.Repeat("é", 128) + " b",
		"23:59:59 user  c", "23:59:59 user  d", "23:59:59 user  e",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSentMessages checks the requests of a replay: sessions in order of their dates, the messages
// of a session together, and facts extracted once for each session.
func TestSentMessages(t *testing.T) {
	b := bench(t, instances)
	var mu sync.Mutex
	var ids []string
	var bodies []map[string]any
	s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/messages/batch") {
			raw, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(raw))
			var body map[string]any
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Error(err)
			}
			mu.Lock()
			bodies, ids = append(bodies, body), append(ids, strings.Split(r.URL.Path, "/")[5])
			mu.Unlock()
		}
		d.ServeHTTP(w, r)
	})
	cfg := config(t, s.URL, Replay)
	cfg.Dialect = result.Snake
	f := fill(t, cfg, b, "q1")
	h, err := b.Haystack("q1")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, one := range h.Sessions {
		want = append(want, one.ID)
	}
	if !slices.Equal(ids, want) || strings.Contains(strings.Join(ids, " "), "answer") {
		t.Errorf("sent %q", ids)
	}
	skip := map[string]any{"skip_extract": true}
	wantBody := map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Thanks.", "created_at": "2023-05-22T23:59:00Z",
			"metadata": skip},
		map[string]any{"role": "assistant", "content": "You are welcome.",
			"created_at": "2023-05-22T23:59:01Z", "metadata": skip},
		map[string]any{"role": "user", "content": "I adopted a grey cat and called it Biscuit on Monday.",
			"created_at": "2023-05-22T23:59:02Z"},
	}}
	if diff := cmp.Diff(wantBody, bodies[2]); diff != "" {
		t.Error(diff)
	}
	for _, one := range h.Sessions {
		got := get(t, cfg, "/v1/brains/"+f.Brains[h.Brain]+"/sessions/"+one.ID)
		if got["extracted"] != got["messages"] || got["messages"] != float64(len(one.Turns)) {
			t.Errorf("session %s: %v", one.ID, got)
		}
	}
}

// TestWithoutBatches replays to a daemon that takes one message at a time.
func TestWithoutBatches(t *testing.T) {
	b := bench(t, instances)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/batch") {
			http.NotFound(w, r)
			return
		}
		d.ServeHTTP(w, r)
	})
	cfg := config(t, s.URL, Replay)
	f := fill(t, cfg, b, all(b)...)
	if s.posts.Load() != 11+2 || f.Report.Messages != 11 {
		t.Errorf("%d requests, %+v", s.posts.Load(), f.Report)
	}
	for _, q := range b.Questions {
		if got := retrieved(t, cfg, f, q.Dataset(), 5); got[0] != q.Gold[0] {
			t.Errorf("question %s: found %q", q.ID, got)
		}
	}
}

// TestLostAnswers breaks connections after messages were stored, or before. A message is never
// stored twice: the daemon says how many it has, or the brain is filled again.
func TestLostAnswers(t *testing.T) {
	b := bench(t, instances)
	for _, c := range []struct {
		name                   string
		stored, counts, single bool
		deletes                int64
	}{
		{"stored, counted", true, true, false, 0},
		{"stored, not counted", true, false, false, 1},
		{"not stored", false, true, false, 1},
		{"one by one, stored", true, true, true, 0},
		{"one by one, not stored", false, true, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
				switch posted := strings.Contains(r.URL.Path, "/messages"); {
				case posted && c.single && strings.HasSuffix(r.URL.Path, "/batch"):
					http.NotFound(w, r)
				case posted && n.Add(1) == 2:
					if c.stored {
						d.ServeHTTP(httptest.NewRecorder(), r)
					}
					daemontest.HangUp(w)
				case !c.counts && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/sessions/"):
					http.NotFound(w, r)
				default:
					d.ServeHTTP(w, r)
				}
			})
			cfg := config(t, s.URL, Replay)
			f := fill(t, cfg, b, "q1")
			if s.deletes.Load() != c.deletes {
				t.Errorf("%d brains were deleted", s.deletes.Load())
			}
			h, err := b.Haystack("q1")
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range h.Sessions {
				path := "/v1/brains/" + f.Brains[h.Brain] + "/documents/read?path=sessions/" +
					one.ID + "/_messages-0001.jsonl"
				res, err := http.Get(s.URL + path)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(res.Body)
				if err := errors.Join(err, res.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(text), `"content"`); n != len(one.Turns) {
					t.Errorf("session %s has %d messages: %.200s", one.ID, n, text)
				}
			}
		})
	}
}

// TestReplayFails checks failures that end a replay: nothing is left and the error says why.
func TestReplayFails(t *testing.T) {
	b := bench(t, instances)
	for _, c := range []struct {
		name, suffix, want string
		answer             func(w http.ResponseWriter, r *http.Request)
	}{
		{"no sessions", "/messages", "does not serve sessions; use the ingest mode bulk", http.NotFound},
		{"never an answer", "/messages/batch", "it is not known whether the daemon has stored",
			func(w http.ResponseWriter, _ *http.Request) { daemontest.HangUp(w) }},
		{"rejected", "/messages/batch", `session "q1-c75de8-session-001", messages 1 to 2: POST`,
			func(w http.ResponseWriter, _ *http.Request) { problem(w, http.StatusBadRequest) }},
		{"other messages", "/sessions/q1-c75de8-session-001",
			"has 5 messages and 2 were sent",
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"messages":5,"extracted":5}`)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
				if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/batch"), strings.TrimSuffix(c.suffix, "/batch")) {
					c.answer(w, r)
					return
				}
				d.ServeHTTP(w, r)
			})
			cfg := config(t, s.URL, Replay)
			_, err := Fill(t.Context(), cfg, b, []string{"q1"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if n := brainsOf(t, cfg); n != 0 {
				t.Errorf("%d brains are left", n)
			}
		})
	}
}

// TestFailedExtraction checks that a replay does not wait for facts that a job has failed to
// extract.
func TestFailedExtraction(t *testing.T) {
	b := bench(t, instances)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, d http.Handler) {
		switch {
		case strings.Contains(r.URL.Path, "/jobs/j1"):
			_, _ = io.WriteString(w, `{"status":"failed","error":{"detail":"no model"}}`)
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "-session-001"):
			_, _ = io.WriteString(w, `{"messages":2,"extracted":0,"extract_job":"j1"}`)
		default:
			d.ServeHTTP(w, r)
		}
	})
	_, err := Fill(t.Context(), config(t, s.URL, Replay), b, []string{"q1"})
	if err == nil || !strings.Contains(err.Error(), "job j1 has failed") || !strings.Contains(err.Error(), "no model") {
		t.Errorf("got %v", err)
	}
}

// foreign is a daemon with spellings and paths of its own. It stores what sessions say as one
// document each, and extracts facts by jobs that it reports.
type foreign struct {
	mu       sync.Mutex
	sessions map[string][]string // by id
	order    []string
	polls    int
	job      string // the last status of each job
	silent   bool   // passages do not say from which session they are
}

func (d *foreign) serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := func(status int, v any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch last := parts[len(parts)-1]; {
	case r.URL.Path == "/v1/brains" && r.Method == http.MethodPost:
		d.sessions = map[string][]string{}
		answer(201, map[string]any{"brainId": c.Body["brainId"]})
	case r.Method == http.MethodDelete:
		d.sessions = nil
		w.WriteHeader(204)
	case last == "messages":
		id := parts[4]
		if d.sessions[id] == nil {
			d.order = append(d.order, id)
		}
		d.sessions[id] = append(d.sessions[id], c.Body["role"].(string)+" said: "+c.Body["content"].(string))
		created := map[string]any{"messageId": "m"}
		if c.Body["metadata"] == nil {
			created["jobId"] = "j-" + id
		}
		answer(202, created)
	case strings.Contains(r.URL.Path, "/jobs/"):
		d.polls++
		status := protocol.JobRunning
		if d.polls%3 == 0 {
			status = d.job
		}
		answer(200, map[string]any{"state": status, "error": map[string]any{"message": "no model"}})
	case last == "search":
		chunks := []map[string]any{}
		for i, id := range d.order {
			text := strings.Join(d.sessions[id], "\n")
			if !shares(text, c.Body["query"].(string)) {
				continue
			}
			chunk := map[string]any{"chunkId": "c", "path": "chat/2023/" + id + "_log.txt", "text": text}
			if d.silent {
				chunk["path"] = "chat/x.txt"
			} else if i%2 == 0 {
				chunk["path"] = "chat/x.txt"
				chunk["metadata"] = map[string]any{"sessionId": id}
			}
			chunks = append(chunks, chunk)
		}
		answer(200, map[string]any{"chunks": chunks})
	default:
		http.NotFound(w, r)
	}
}

// shares reports whether a text has a long word of a query.
func shares(text, query string) bool {
	return slices.ContainsFunc(strings.Fields(query), func(w string) bool {
		return len(w) > 5 && strings.Contains(text, w)
	})
}

// TestForeignDaemon replays to a daemon with spellings and paths of its own, which takes no batches
// and does not describe sessions.
func TestForeignDaemon(t *testing.T) {
	b := bench(t, instances)
	d := &foreign{job: "done"}
	s := daemontest.New(t, d.serve)
	cfg := config(t, s.URL, Replay)
	cfg.Dialect = result.Camel
	f := fill(t, cfg, b, "q1")
	if d.polls != 9 || len(d.order) != 3 {
		t.Errorf("%d looks at jobs, sessions %q", d.polls, d.order)
	}
	q := b.Questions[0].Dataset()
	h, err := b.Haystack("q1")
	if err != nil {
		t.Fatal(err)
	}
	for i, question := range []string{"every summer", "ripe tomatoes", "called Biscuit"} {
		q.Question = question
		want := []string{h.Sessions[i].Path}
		if got := retrieved(t, cfg, f, q, 5); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", q.Question, got, want)
		}
	}

	d = &foreign{job: protocol.JobFailed}
	s = daemontest.New(t, d.serve)
	cfg = config(t, s.URL, Replay)
	_, err = Fill(t.Context(), cfg, b, []string{"q1"})
	if err == nil || !strings.Contains(err.Error(), "has failed, so that facts are missing") ||
		!strings.Contains(err.Error(), "no model") || d.sessions != nil {
		t.Errorf("got %v", err)
	}
}

// TestStalled checks how long a replay waits for a daemon that does not extract facts, and for one
// that does not say from which session a passage is.
func TestStalled(t *testing.T) {
	b := bench(t, instances)
	for _, c := range []struct {
		name, want string
		daemon     *foreign
		least      time.Duration
	}{
		{"no facts", "has not ended: nothing has changed for 5m", &foreign{job: protocol.JobQueued}, stalledAfter},
		{"no sessions in passages", "session of a passage must be in its metadata",
			&foreign{job: "done", silent: true}, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			daemontest.InMemory(t, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				call := daemontest.Call{Method: r.Method, Raw: raw}
				_ = json.Unmarshal(raw, &call.Body)
				c.daemon.serve(w, r, call)
			})
			cfg := config(t, "http://memory", Replay)
			start := time.Now()
			_, err := Fill(t.Context(), cfg, b, []string{"q1"})
			took := time.Since(start)
			if err == nil || !strings.Contains(err.Error(), c.want) || took < c.least || took > c.least+5*time.Second {
				t.Errorf("%s: after %v: %v", c.name, took, err)
			}
		})
	}
}

// TestSameRanking fills brains with the same conversation twice and compares what is found: a
// ranking must not depend on when the messages were sent.
func TestSameRanking(t *testing.T) {
	b := open(t, sharedtest.Path(t, "locomo/locomo5.json"))
	id := b.Infos()[0].ID
	s := serve(t, nil)
	var first map[string][]result.Chunk
	for _, build := range []string{"1", "2"} {
		cfg := config(t, s.URL, Replay)
		cfg.Daemon.Build = build
		f := fill(t, cfg, b, id)
		found := map[string][]result.Chunk{}
		for _, q := range b.Questions {
			if q.Haystack == id {
				found[q.ID] = search(t, cfg, f, q.Dataset(), 10)
			}
		}
		if first == nil {
			first = found
		} else if diff := cmp.Diff(first, found); diff != "" || len(found) < 100 {
			t.Errorf("%d questions:\n%.2000s", len(found), diff)
		}
	}
}
