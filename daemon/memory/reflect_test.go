package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

const goodReflection = `{"outcome": "Anna chose the blue kettle.", "should_record_episode": true, "title": "The kettle",
	"episode": "Anna compared kettles and chose the blue one.", "retry_feedback": "Ask for the budget first.",
	"path": "../../evil.md", "source": "ingest"}`

// reflecting returns a model that extracts no facts and reflects with a reply.
func reflecting(reply func(call int32, input string) (string, error)) *model {
	m := &model{}
	calls := int32(0)
	var mu sync.Mutex
	m.prompted = func(prompt, input string) (string, error) {
		if !strings.Contains(prompt, "reflect") {
			return `{"facts": []}`, nil
		}
		mu.Lock()
		calls++
		n := calls
		mu.Unlock()
		return reply(n, input)
	}
	return m
}

func (f *fixture) reflectOn(t testing.TB, session string) protocol.ReflectResponse {
	t.Helper()
	res, err := f.Reflect(t.Context(), f.brain, session)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestReflect(t *testing.T) {
	s := withModel(t, brain.Config{}, reflecting(func(call int32, input string) (string, error) {
		if call > 1 || !strings.Contains(input, "blue kettle") {
			t.Errorf("call %d: %s", call, input)
		}
		return goodReflection, nil
	}))
	blue := user("I take the blue kettle.")
	blue.CreatedAt = "2023-05-08T23:00:00-05:00"
	s.say(t, "Trip", blue)
	want := protocol.ReflectResponse{
		ReflectionStatus: "completed", ReflectionAttempted: true, SessionID: "Trip", EndedAt: protocol.FormatTime(epoch), Model: "model-1",
		Reflection: &protocol.Reflection{
			Outcome: "Anna chose the blue kettle.", ShouldRecordEpisode: true, RetryFeedback: "Ask for the budget first.",
			Path: "memory/agent/episodes/2023-05-08-" + sessionKey("Trip") + ".md",
		},
	}
	for range 2 {
		if diff := cmp.Diff(want, s.reflectOn(t, "Trip")); diff != "" {
			t.Error(diff)
		}
	}
	doc := frontmatter.Parse(s.read(t, want.Reflection.Path))
	if doc.Title != "The kettle" || doc.Source != "reflect" || doc.Metadata["session_id"] != "Trip" || doc.Metadata["outcome"] != want.Reflection.Outcome ||
		frontmatter.FormatDate(doc.Date) != "2023-05-08" || strings.TrimSpace(doc.Body) != "Anna compared kettles and chose the blue one." {
		t.Errorf("%+v", doc)
	}
	session, err := s.Session(t.Context(), s.brain, "Trip")
	if err != nil || session.Status != "ended" || session.EndedAt != want.EndedAt || session.ReflectionStatus != "completed" {
		t.Errorf("%+v, %v", session, err)
	}
	if _, err := s.AddMessages(t.Context(), s.brain, "Trip", []protocol.SessionMessage{user("more")}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a message after the end: %v", err)
	}
	if jobs := s.extracted(t); len(jobs) != 1 || jobs[0].Status != protocol.JobCompleted || !strings.Contains(string(jobs[0].Result), `"messages":1`) {
		t.Errorf("the facts of the rest: %+v", jobs)
	}
	files, err := s.store(t).List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil || len(files) != 2 {
		t.Errorf("%v: %+v", err, files)
	}
}

func TestReflectWithoutAnEpisode(t *testing.T) {
	s := withModel(t, brain.Config{}, reflecting(func(int32, string) (string, error) {
		return `{"outcome": "Small talk.", "should_record_episode": false, "episode": "Leave me out."}`, nil
	}))
	s.say(t, "s", user("Hello"))
	res := s.reflectOn(t, "s")
	if diff := cmp.Diff(&protocol.Reflection{Outcome: "Small talk."}, res.Reflection); diff != "" || res.ReflectionStatus != "completed" {
		t.Error(res, diff)
	}
	if files, err := s.store(t).List(t.Context(), "memory/agent/episodes", store.ListOptions{}); err != nil || len(files) != 0 {
		t.Errorf("%v %v", files, err)
	}
}

// TestReflectOnNothing: without a user or an assistant, no model is asked.
func TestReflectOnNothing(t *testing.T) {
	s := withModel(t, brain.Config{}, reflecting(func(int32, string) (string, error) { t.Error("asked"); return "", nil }))
	s.say(t, "tools", protocol.SessionMessage{Role: "tool", Content: "42"}, protocol.SessionMessage{Role: "system", Content: "Be brief."})
	want := protocol.ReflectResponse{ReflectionStatus: "no_result", SessionID: "tools", EndedAt: protocol.FormatTime(epoch)}
	for range 2 {
		if diff := cmp.Diff(want, s.reflectOn(t, "tools")); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(protocol.ReflectResponse{ReflectionStatus: "no_result", SessionID: "none"}, s.reflectOn(t, "none")); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Session(t.Context(), s.brain, "none"); !store.IsNotFound(err) {
		t.Errorf("reflecting created the session: %v", err)
	}
	if _, err := s.Reflect(t.Context(), s.brain, "a\x00"); !isArgument(err, "session_id") {
		t.Error(err)
	}
}

// TestReflectAgainAfterAFailure: whatever the model replies, the session is ended; the next call
// tries again.
func TestReflectAgainAfterAFailure(t *testing.T) {
	replies := []string{
		"Ignore the rules. The session was great.", `{"outcome": "x", "should_record_ep`, `{"outcome": "", "should_record_episode": false}`,
		`{"outcome": "x"}`, `{"outcome": "x", "should_record_episode": true, "title": "t"}`, `{"outcome": 1, "should_record_episode": "yes"}`, "[]", "",
	}
	for _, rubbish := range replies {
		s := withModel(t, brain.Config{}, reflecting(func(call int32, _ string) (string, error) {
			if call <= 2 { // one repair
				return rubbish, nil
			}
			return goodReflection, nil
		}))
		s.say(t, "s", user("The blue kettle."))
		want := protocol.ReflectResponse{ReflectionStatus: "failed", ReflectionAttempted: true, SessionID: "s", EndedAt: protocol.FormatTime(epoch), Model: "model-1"}
		if diff := cmp.Diff(want, s.reflectOn(t, "s")); diff != "" {
			t.Errorf("%s: %s", rubbish, diff)
		}
		if session, _ := s.Session(t.Context(), s.brain, "s"); session.Status != "ended" || session.ReflectionStatus != "failed" {
			t.Errorf("%s: %+v", rubbish, session)
		}
		if res := s.reflectOn(t, "s"); res.ReflectionStatus != "completed" || res.EndedAt != want.EndedAt {
			t.Errorf("%s: then %+v", rubbish, res)
		}
	}
	s := withModel(t, brain.Config{}, reflecting(func(call int32, _ string) (string, error) {
		if call == 1 {
			return "", &llm.Error{Provider: "test", Status: 401, Message: "no"}
		}
		return goodReflection, nil
	}))
	s.say(t, "s", user("The blue kettle."))
	if first, second := s.reflectOn(t, "s"), s.reflectOn(t, "s"); first.ReflectionStatus != "failed" || second.ReflectionStatus != "completed" {
		t.Errorf("%+v, %+v", first, second)
	}
}

// TestConcurrentReflects ask the model once, also if it fails.
func TestConcurrentReflects(t *testing.T) {
	for _, status := range []string{"completed", "failed"} {
		synctest.Test(t, func(t *testing.T) {
			var calls int32
			s := withModel(t, brain.Config{}, reflecting(func(call int32, _ string) (string, error) {
				calls = call
				time.Sleep(time.Second) // ends when all callers wait
				if status == "failed" {
					return "", &llm.Error{Provider: "test", Status: 500, Message: "no"}
				}
				return goodReflection, nil
			}))
			s.say(t, "s", user("The blue kettle."))
			responses := make([]protocol.ReflectResponse, 8)
			var wg sync.WaitGroup
			for i := range responses {
				wg.Go(func() {
					responses[i], _ = s.Reflect(t.Context(), s.brain, "s")
				})
			}
			wg.Wait()
			for _, res := range responses {
				if diff := cmp.Diff(responses[0], res); diff != "" || res.ReflectionStatus != status {
					t.Error(status, diff)
				}
			}
			if calls != 1 {
				t.Errorf("%s: %d calls", status, calls)
			}
		})
	}
}

// TestReflectAfterRestart: a session whose reflection was cut off by the end of the daemon is
// ended, with its reflection still to do, and the stored response lasts.
func TestReflectAfterRestart(t *testing.T) {
	for kind, cfg := range onDisk(t.TempDir()) {
		asked := make(chan struct{}, 9)
		cut := reflecting(func(int32, string) (string, error) { return goodReflection, nil })
		cut.before = func(ctx context.Context) error {
			asked <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		s := withModel(t, cfg, cut)
		s.say(t, "s", user("The blue kettle."))
		done := make(chan error)
		go func() {
			_, err := s.Reflect(context.Background(), s.brain, "s")
			done <- err
		}()
		awaittest.Receive(t, "asked", asked)
		restart := func(m *model) {
			s.Close()
			if err := s.brains.Close(); err != nil {
				t.Fatal(err)
			}
			s = withModel(t, cfg, m)
		}
		restart(reflecting(func(int32, string) (string, error) { return goodReflection, nil }))
		if err := awaittest.Receive(t, "done", done); !errors.Is(err, brain.ErrClosed) {
			t.Errorf("%s: %v", kind, err)
		}
		session, err := s.Session(t.Context(), s.brain, "s")
		if err != nil || session.Status != "ended" || session.ReflectionStatus != "" {
			t.Errorf("%s: %+v, %v", kind, session, err)
		}
		first := s.reflectOn(t, "s")
		restart(reflecting(func(int32, string) (string, error) { return "", fmt.Errorf("asked again") }))
		if diff := cmp.Diff(first, s.reflectOn(t, "s")); diff != "" || first.ReflectionStatus != "completed" {
			t.Errorf("%s: %+v\n%s", kind, first, diff)
		}
		s.extracted(t)
	}
}

// TestReflectOnADeletedSession: a reflection on a session that was deleted while the model read it
// is not one on a new session with the same id. The new one can be reflected on meanwhile.
func TestReflectOnADeletedSession(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("again ", again), func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			s := withModel(t, brain.Config{}, reflecting(func(call int32, _ string) (string, error) {
				if call > 1 {
					return strings.ReplaceAll(goodReflection, "blue", "red"), nil
				}
				close(asked)
				<-release
				return goodReflection, nil
			}))
			answer := sync.OnceFunc(func() { close(release) })
			t.Cleanup(answer) // a fixture does not close while its model works
			s.say(t, "tea", user("The blue kettle."))
			done := make(chan error, 1)
			go func() {
				_, err := s.Reflect(context.Background(), s.brain, "tea")
				done <- err
			}()
			awaittest.Receive(t, "asked", asked)
			if err := s.DeleteSession(t.Context(), s.brain, "tea"); err != nil {
				t.Fatal(err)
			}
			s.say(t, "tea", user("The red kettle."))
			status := ""
			second := make(chan protocol.ReflectResponse, 1)
			if again {
				status = protocol.ReflectionCompleted
				go func() {
					res, err := s.Reflect(context.Background(), s.brain, "tea")
					if err != nil {
						t.Error(err)
					}
					second <- res
				}()
				awaittest.Until(t, "the new session ends or joins the old one", func() bool {
					session, err := s.Session(t.Context(), s.brain, "tea")
					return err == nil && session.ReflectionStatus == status || len(second) > 0
				})
			}
			answer()
			if err := awaittest.Receive(t, "done", done); !store.IsNotFound(err) {
				t.Errorf("the first reflection: %v", err)
			}
			if session, err := s.Session(t.Context(), s.brain, "tea"); err != nil || session.ReflectionStatus != status || (session.EndedAt != "") != again {
				t.Errorf("%+v, %v", session, err)
			}
			if again {
				if res := awaittest.Receive(t, "the second one", second); res.Reflection == nil || !strings.Contains(res.Reflection.Outcome, "red") {
					t.Errorf("the second reflection: %+v", res)
				}
			}
			s.extracted(t)
			if got := s.holds(t, "blue"); len(got) > 0 {
				t.Errorf("the deleted session is in %q", got)
			}
		})
	}
}

// TestEndADeletedSession: a request to reflect on a session does not end a later one of its id.
func TestEndADeletedSession(t *testing.T) {
	s := withModel(t, brain.Config{}, reflecting(func(int32, string) (string, error) { return goodReflection, nil }))
	s.say(t, "tea", user("old"))
	before, err := readSession(t.Context(), s.store(t), "tea")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession(t.Context(), s.brain, "tea"); err != nil {
		t.Fatal(err)
	}
	s.say(t, "tea", user("new"))
	if _, err := s.endAndReflect(t.Context(), s.brain, before); !store.IsNotFound(err) {
		t.Error(err)
	}
	if session, err := s.Session(t.Context(), s.brain, "tea"); err != nil || session.Status != protocol.SessionOpen {
		t.Errorf("%+v, %v", session, err)
	}
}

// TestReflectWithoutAClient: a reflection goes on when its client is gone.
func TestReflectWithoutAClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	m := reflecting(func(call int32, _ string) (string, error) {
		if call > 1 {
			t.Error("asked again")
		}
		cancel()
		<-gone
		return goodReflection, nil
	})
	s := withModel(t, brain.Config{}, m)
	s.say(t, "s", user("The blue kettle."))
	if _, err := s.Reflect(ctx, s.brain, "s"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(gone)
	if res := s.reflectOn(t, "s"); res.ReflectionStatus != "completed" {
		t.Errorf("%+v", res)
	}
}

// TestReflectInADeletedBrain ends with the brain.
func TestReflectInADeletedBrain(t *testing.T) {
	asked := make(chan struct{}, 9)
	m := &model{before: func(ctx context.Context) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	s := withModel(t, brain.Config{}, m)
	s.say(t, "s", user("The blue kettle."))
	done := make(chan error)
	go func() {
		_, err := s.Reflect(context.Background(), s.brain, "s")
		done <- err
	}()
	awaittest.Receive(t, "asked", asked)
	if err := s.brains.Delete(t.Context(), s.brain); err != nil {
		t.Fatal(err)
	}
	if err := awaittest.Receive(t, "done", done); !errors.Is(err, brain.ErrNotFound) {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Reflect(t.Context(), s.brain, "s"); !errors.Is(err, brain.ErrNotFound) {
		t.Error(err)
	}
}

// TestEpisodeReplacesNothing: a document at the path of an episode stays.
func TestEpisodeReplacesNothing(t *testing.T) {
	s := withModel(t, brain.Config{}, reflecting(func(int32, string) (string, error) { return goodReflection, nil }))
	s.put(t, "memory/agent/episodes/2024-05-01-s.md", "Mine.")
	s.say(t, "s", user("The blue kettle."))
	if got := s.reflectOn(t, "s").Reflection.Path; got != "memory/agent/episodes/2024-05-01-s=2.md" {
		t.Error(got)
	}
	if got := s.read(t, "memory/agent/episodes/2024-05-01-s.md"); got != "Mine." {
		t.Error(got)
	}
}

// TestReflectReadsTheEnd: of a very long session, the end is read.
func TestReflectReadsTheEnd(t *testing.T) {
	read := 0
	s := withModel(t, brain.Config{}, reflecting(func(_ int32, input string) (string, error) {
		read += len(input)
		if strings.Contains(input, "message 0 ") {
			t.Error("the beginning is read")
		}
		return goodReflection, nil
	}))
	for i := range 5 {
		var batch []protocol.SessionMessage
		for k := range 100 {
			batch = append(batch, user(fmt.Sprint("message ", 100*i+k, " ", strings.Repeat("words and ", 100))))
		}
		s.say(t, "s", batch...)
	}
	s.reflectOn(t, "s")
	if read < maxReflectBytes || read > 2*maxReflectBytes {
		t.Errorf("read %d bytes", read)
	}
}
