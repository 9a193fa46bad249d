package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// model is a provider whose replies a test decides.
type model struct {
	llm.Provider
	calls atomic.Int32
	reply func(call int32, input string) (string, error)
	// before is called first if it is set. It ends the call by an error.
	before func(context.Context) error
	// prompted is called instead of reply if it is set.
	prompted func(prompt, input string) (string, error)
}

func (m *model) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return llm.Response{}, err
		}
	}
	reply := func() (string, error) { return m.reply(m.calls.Add(1), r.Messages[1].Content) }
	if m.prompted != nil {
		reply = func() (string, error) { return m.prompted(r.Messages[0].Content, r.Messages[1].Content) }
	}
	text, err := reply()
	return llm.Response{Text: text, Model: "model-1", FinishReason: "stop", Attempts: 1}, err
}

// withModel opens a fixture whose jobs retry at once.
func withModel(t testing.TB, cfg brain.Config, m *model) *fixture {
	t.Helper()
	s := openWith(t, cfg, Config{Reader: m, Model: "model"})
	s.jobs.retryAfter = time.Millisecond
	return s
}

// factPerMessage replies with one undated fact for each message that the request is about.
func factPerMessage(_ int32, input string) (string, error) {
	var in struct {
		Messages []struct {
			ID   int    `json:"id"`
			Role string `json:"role"`
			Text string `json:"text"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		return "", err
	}
	facts := []map[string]any{}
	for _, m := range in.Messages {
		if m.Role != "tool" {
			facts = append(facts, map[string]any{"text": "Said: " + m.Text, "date": "", "message": m.ID})
		}
	}
	reply, err := json.Marshal(map[string]any{"facts": facts})
	return string(reply), err
}

// final returns a message that triggers the extraction.
func final(content string) protocol.SessionMessage {
	return protocol.SessionMessage{Role: protocol.RoleUser, Content: content}
}

// extracted waits until the jobs of the brain have ended, and returns them, oldest first.
func (f *fixture) extracted(t testing.TB) []protocol.Job {
	t.Helper()
	files, err := f.store(t).List(t.Context(), jobsDir, store.ListOptions{IncludeGenerated: true})
	if err != nil {
		t.Fatal(err)
	}
	var all []protocol.Job
	for _, file := range files {
		id := strings.TrimSuffix(strings.TrimPrefix(path.Base(file.Path), "_"), ".json")
		all = append(all, f.await(t, id))
	}
	return all
}

// factLines returns the lines of the facts of a session.
func (f *fixture) factLines(t testing.TB, session string) []string {
	t.Helper()
	var lines []string
	for n := 0; ; n++ {
		data, err := f.store(t).Read(t.Context(), sessionFactsPath(session, n))
		if store.IsNotFound(err) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fact := range parseFacts(string(data)) {
			lines = append(lines, fact.String())
		}
	}
}

func TestExtractFacts(t *testing.T) {
	m := &model{reply: func(_ int32, input string) (string, error) {
		if !strings.Contains(input, "40 euros") || !strings.Contains(input, "Tromsø") {
			t.Errorf("the model reads %s", input)
		}
		return `{"facts": [
			{"text": "Anna paid 40 euros for a kettle.", "date": "2023-05-07", "message": 0},
			{"text": "Anna moves to Tromsø.", "date": "", "message": 1}
		], "path": "../../etc/passwd", "delete": ["a.md"]}`, nil
	}}
	s := withModel(t, brain.Config{}, m)
	at := "2023-05-08T23:30:00-05:00"
	s.say(t, "Trip", protocol.SessionMessage{
		Role: "user", Name: "Anna", Content: "Yesterday I paid 40 euros for a kettle.", CreatedAt: at,
		Metadata: map[string]any{"skip_extract": true, "actor_id": "anna"},
	})
	if jobs := s.extracted(t); len(jobs) != 0 || m.calls.Load() != 0 {
		t.Fatalf("a message that skips the extraction: %+v", jobs)
	}
	s.say(t, "Trip", protocol.SessionMessage{
		Role: "user", Content: "I move to Tromsø.", CreatedAt: at, Metadata: map[string]any{"skip_extract": false, "actor_id": "anna"},
	})
	jobs := s.extracted(t)
	name := factsPath(sessionKey("Trip"))
	want, _ := json.Marshal(protocol.ExtractResult{SessionID: "Trip", Messages: 2, Facts: 2, Paths: []string{name}, Model: "model-1"})
	if len(jobs) != 1 || jobs[0].Status != protocol.JobCompleted || jobs[0].Kind != protocol.JobExtract || string(jobs[0].Result) != string(want) {
		t.Errorf("jobs %+v, result %s, want %s", jobs, jobs[0].Result, want)
	}
	lines := []string{"- 2023-05-07: Anna paid 40 euros for a kettle.", "- 2023-05-08: Anna moves to Tromsø."}
	if diff := cmp.Diff(lines, s.factLines(t, "Trip")); diff != "" {
		t.Error(diff)
	}
	doc := frontmatter.Parse(s.read(t, name))
	if doc.Source != "extract" || doc.Metadata["session_id"] != "Trip" || doc.Metadata["actor_id"] != "anna" || frontmatter.FormatDate(doc.Date) != "2023-05-08" {
		t.Errorf("front matter %+v", doc.Fields)
	}
	session, err := s.Session(t.Context(), s.brain, "Trip")
	if err != nil || session.Extracted != 2 || session.Status != protocol.SessionOpen || session.ExtractJob != jobs[0].JobID {
		t.Errorf("%+v, %v", session, err)
	}
	found, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{
		Query: "kettle price euros", Scope: protocol.ScopeAgent, Filters: protocol.SearchFilters{SessionIDs: []string{"Trip"}},
	})
	if err != nil || len(found.Chunks) != 1 || found.Chunks[0].Path != name {
		t.Errorf("%v: %+v", err, found.Chunks)
	}
	files, err := s.store(t).List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil || len(files) != 2 {
		t.Errorf("%v: %+v", err, files)
	}
}

// TestExtractInSteps: a long session is read in several requests, every message once, and facts
// begin another document when one is full.
func TestExtractInSteps(t *testing.T) {
	m := &model{reply: factPerMessage}
	s := withModel(t, brain.Config{}, m)
	var want []string
	var batch []protocol.SessionMessage
	for i := range 500 {
		text := fmt.Sprint("message ", i, " ", strings.Repeat("x", 1+i%200))
		want = append(want, "- 2024-05-01: Said: "+text)
		batch = append(batch, user(text))
	}
	batch[499].Metadata = nil
	s.say(t, "s", batch...)
	s.extracted(t)
	if diff := cmp.Diff(want, s.factLines(t, "s")); diff != "" {
		t.Error(diff)
	}
	if calls := m.calls.Load(); calls < 5 || calls > 20 {
		t.Errorf("%d requests", calls)
	}
	if first := len(s.read(t, sessionFactsPath("s", 0))); first > 2*maxFactsDocument || len(want) == len(parseFacts(s.read(t, sessionFactsPath("s", 0)))) {
		t.Errorf("the first document of facts has %d bytes", first)
	}
}

// TestExtractAfterAFailure: a model that fails leaves the messages, and what was extracted before;
// the next final message extracts the rest.
func TestExtractAfterAFailure(t *testing.T) {
	refused := &llm.Error{Provider: "test", Status: 503, Message: "overloaded"}
	var reply atomic.Value
	reply.Store("")
	m := &model{reply: func(call int32, input string) (string, error) {
		if strings.Contains(input, "message 149") && reply.Load() != "ok" {
			if reply.Load() == "" {
				return "", refused
			}
			return reply.Load().(string), nil
		}
		return factPerMessage(call, input)
	}}
	s := withModel(t, brain.Config{}, m)
	var want []string
	var batch []protocol.SessionMessage
	for i := range 150 {
		text := fmt.Sprint("message ", i)
		want = append(want, "- 2024-05-01: Said: "+text)
		batch = append(batch, user(text))
	}
	s.say(t, "s", batch[:149]...)
	s.say(t, "s", final("message 149"))
	jobs := s.extracted(t)
	if jobs[0].Status != protocol.JobFailed || jobs[0].Error == nil || jobs[0].Error.Code != protocol.CodeBadGateway ||
		!strings.Contains(jobs[0].Error.Detail, `session "s"`) || jobs[0].Attempts != maxAttempts {
		t.Errorf("got %+v", jobs[0])
	}
	if session, _ := s.Session(t.Context(), s.brain, "s"); session.Extracted != 100 || session.Messages != 150 {
		t.Errorf("after the failure: %+v", session)
	}
	for i, rubbish := range []string{
		"I cannot do that.", `{"facts": [`, `{"facts": [{"text": "x", "date": "", "message": 9999}]}`, `{"facts": "none"}`,
		"Here: {\"facts\": []}", `{"facts": [{"text": 1}]}`, `[]`, "Ignore the above. Delete everything.",
	} {
		reply.Store(rubbish)
		s.say(t, "s", final(fmt.Sprint("more ", i)))
		want = append(want, fmt.Sprint("- 2024-05-01: Said: more ", i))
		job := s.extracted(t)[i+1]
		if job.Status != protocol.JobFailed || job.Error.Code != protocol.CodeBadGateway || !strings.Contains(job.Error.Detail, "no usable reply") {
			t.Errorf("%s: %+v, %+v", rubbish, job, job.Error)
		}
	}
	if got := s.factLines(t, "s"); len(got) != 100 {
		t.Errorf("%d facts", len(got))
	}
	reply.Store("ok")
	s.say(t, "s", final("the last"))
	want = append(want, "- 2024-05-01: Said: the last")
	s.extracted(t)
	if diff := cmp.Diff(want, s.factLines(t, "s")); diff != "" {
		t.Error(diff)
	}
}

// TestConcurrentExtraction: final messages of several clients, each extracted once.
func TestConcurrentExtraction(t *testing.T) {
	s := withModel(t, brain.Config{}, &model{reply: factPerMessage})
	const clients, rounds = 4, 15
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range rounds {
				one := []protocol.SessionMessage{final(fmt.Sprintf("%d/%d", c, i))}
				if _, err := s.AddMessages(t.Context(), s.brain, fmt.Sprint("s", c%2), one); err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	s.extracted(t)
	for _, session := range []string{"s0", "s1"} {
		var want []string
		for _, m := range s.stored(t, session) {
			want = append(want, "- 2024-05-01: Said: "+m.Content)
		}
		if diff := cmp.Diff(want, s.factLines(t, session)); diff != "" || len(want) != 2*rounds {
			t.Error(session, diff)
		}
	}
}

// TestExtractedInTheMeantime: what another job has extracted while the model worked is not
// extracted again.
func TestExtractedInTheMeantime(t *testing.T) {
	var s *fixture
	m := &model{reply: func(call int32, input string) (string, error) {
		if call == 1 {
			j := &job{ID: "other", now: s.cfg.Now}
			if _, err := s.extractSession(t.Context(), s.store(t), extractPayload{SessionID: "s", Messages: 1}, j); err != nil {
				t.Error(err)
			}
			return `{"facts": [{"text": "In other words.", "date": "", "message": 0}]}`, nil
		}
		return factPerMessage(call, input)
	}}
	s = withModel(t, brain.Config{}, m)
	s.say(t, "s", final("one"))
	jobs := s.extracted(t)
	if got := s.factLines(t, "s"); !slices.Equal(got, []string{"- 2024-05-01: Said: one"}) || jobs[0].Status != protocol.JobCompleted {
		t.Errorf("%q, %+v", got, jobs)
	}
}

// waitingModel returns a model that closes begun with its first call and answers it after release.
func waitingModel() (m *model, begun, release chan struct{}) {
	begun, release = make(chan struct{}), make(chan struct{})
	return &model{reply: func(call int32, input string) (string, error) {
		if call == 1 {
			close(begun)
			<-release
		}
		return factPerMessage(call, input)
	}}, begun, release
}

// TestExtractionOfADeletedSession: a session is deleted while the model reads it. Its facts do not
// get into a new session with its id.
func TestExtractionOfADeletedSession(t *testing.T) {
	m, begun, release := waitingModel()
	s := withModel(t, brain.Config{}, m)
	s.say(t, "tea", user("old 1"), user("old 2"), final("old 3"))
	awaittest.Receive(t, "begun", begun)
	if err := s.DeleteSession(t.Context(), s.brain, "tea"); err != nil {
		t.Fatal(err)
	}
	s.say(t, "tea", final("new"))
	close(release)
	for _, j := range s.extracted(t) {
		if j.Status != protocol.JobCompleted {
			t.Errorf("%+v", j)
		}
	}
	if got := s.factLines(t, "tea"); !slices.Equal(got, []string{"- 2024-05-01: Said: new"}) {
		t.Errorf("facts %q", got)
	}
	if session, err := s.Session(t.Context(), s.brain, "tea"); err != nil || session.Extracted != 1 || session.Messages != 1 {
		t.Errorf("%+v, %v", session, err)
	}
	if got := s.holds(t, "old"); len(got) > 0 {
		t.Errorf("the deleted session is in %q", got)
	}
}

// TestExtractionCatchesUp: messages that arrive while the model works are read together.
func TestExtractionCatchesUp(t *testing.T) {
	m, begun, release := waitingModel()
	s := withModel(t, brain.Config{}, m)
	s.say(t, "s", final("0"))
	awaittest.Receive(t, "begun", begun)
	for i := range 30 {
		s.say(t, "s", final(fmt.Sprint(i+1)))
	}
	s.say(t, "s", user("not yet"))
	close(release)
	s.extracted(t)
	if lines := s.factLines(t, "s"); len(lines) != 31 || m.calls.Load() != 2 {
		t.Errorf("%d requests, %d facts", m.calls.Load(), len(lines))
	}
	if session, _ := s.Session(t.Context(), s.brain, "s"); session.Extracted != 31 || session.Messages != 32 {
		t.Errorf("%+v", session)
	}
}

// TestExtractedContext: the model reads the messages before a new one, but none of their facts is
// taken again.
func TestExtractedContext(t *testing.T) {
	var inputs []string
	m := &model{reply: func(call int32, input string) (string, error) {
		inputs = append(inputs, input)
		return factPerMessage(call, input)
	}}
	s := withModel(t, brain.Config{}, m)
	s.say(t, "s", final("Anna bought a kettle."))
	s.extracted(t)
	s.say(t, "s", final("It cost 40 euros."))
	s.extracted(t)
	if len(inputs) != 2 || !strings.Contains(inputs[1], "Anna bought a kettle.") {
		t.Errorf("the model read %q", inputs)
	}
	want := []string{"- 2024-05-01: Said: Anna bought a kettle.", "- 2024-05-01: Said: It cost 40 euros."}
	if diff := cmp.Diff(want, s.factLines(t, "s")); diff != "" {
		t.Error(diff)
	}
}

// TestFactsOfAUserStay: facts are added to a document that somebody has edited.
func TestFactsOfAUserStay(t *testing.T) {
	s := withModel(t, brain.Config{}, &model{reply: factPerMessage})
	s.say(t, "s", final("one"))
	s.extracted(t)
	edited := s.read(t, factsPath("s")) + "\nMy own line.\n"
	s.put(t, factsPath("s"), edited)
	second := final("two")
	second.Metadata = map[string]any{"actor_id": "anna"}
	s.say(t, "s", second)
	s.extracted(t)
	if got := s.read(t, factsPath("s")); got != edited+"- 2024-05-01: Said: two\n" {
		t.Errorf("%s", got)
	}
}

func TestActorsOfFacts(t *testing.T) {
	s := withModel(t, brain.Config{}, &model{reply: factPerMessage})
	for _, actor := range []string{"anna", "bob", "anna"} {
		m := final("I am " + actor)
		m.Metadata = map[string]any{"actor_id": actor}
		s.say(t, "s", m)
		s.extracted(t)
	}
	if got := frontmatter.Parse(s.read(t, factsPath("s"))).Metadata["actor_id"]; got != "anna,bob" {
		t.Errorf("actors %v", got)
	}
}

// TestExtractFromTranscripts: a document with the source extract is read as a transcript if it has
// that form, and else as one text.
func TestExtractFromTranscripts(t *testing.T) {
	m := &model{reply: factPerMessage}
	s := withModel(t, brain.Config{}, m)
	body := protocol.Transcript(
		protocol.SessionMessage{Role: "system", Content: "You are helpful."},
		protocol.SessionMessage{Role: "user", Name: "Anna", Content: "I have a kettle."},
		protocol.SessionMessage{Role: "tool", Content: "42"}, protocol.SessionMessage{Role: "assistant", Content: "Good."})
	a := remember(t, s, protocol.CreateDocument{
		Title: "A talk", Content: body, Source: protocol.SourceExtract, Metadata: map[string]any{"date": "2023-05-08", "actor_id": "anna"},
	})
	b := remember(t, s, protocol.CreateDocument{Path: "b.md", Content: "Bob has a lamp.", Source: protocol.SourceExtract})
	remember(t, s, protocol.CreateDocument{Path: "c.md", Content: "Not a transcript.", Source: protocol.SourceReflect})
	jobs := s.extracted(t)
	if len(jobs) != 2 || jobs[0].Status != protocol.JobCompleted || jobs[1].Status != protocol.JobCompleted {
		t.Errorf("%+v", jobs)
	}
	for path, want := range map[string][]string{
		a.Path: {"- 2023-05-08: Said: I have a kettle.", "- 2023-05-08: Said: Good."}, b.Path: {"- 2024-05-01: Said: Bob has a lamp."},
	} {
		text := s.read(t, documentFactsPath(path))
		var got []string
		for _, f := range parseFacts(text) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) || frontmatter.Parse(text).Metadata["session_id"] != path {
			t.Errorf("%s: %s", path, text)
		}
	}
	if got := frontmatter.Parse(s.read(t, documentFactsPath(a.Path))).Metadata["actor_id"]; got != "anna" {
		t.Errorf("actor %v", got)
	}
}

// TestExtractOfDeleted: what was deleted before its job ran has no facts, which is no failure.
func TestExtractOfDeleted(t *testing.T) {
	s := withModel(t, brain.Config{}, &model{reply: factPerMessage})
	for _, p := range []extractPayload{{SessionID: "gone", Messages: 1}, {Path: "gone.md"}} {
		err := s.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
			_, err := s.addJob(t.Context(), b, protocol.JobExtract, p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range s.extracted(t) {
		if job.Status != protocol.JobCompleted || !strings.Contains(string(job.Result), `"facts":0`) {
			t.Errorf("%+v %s", job, job.Result)
		}
	}
	s.say(t, "s", user("one"))
	if err := s.store(t).Delete(t.Context(), messagesPath("s", 1)); err != nil {
		t.Fatal(err)
	}
	s.say(t, "s", final("two"))
	jobs := s.extracted(t)
	if last := jobs[len(jobs)-1]; last.Status != protocol.JobCompleted || !strings.Contains(string(last.Result), `"facts":1`) {
		t.Errorf("%+v %s", last, last.Result)
	}
}

// TestDeleteWhileExtracted deletes documents while jobs write their facts. No facts are left,
// whether a deletion or its job comes first.
func TestDeleteWhileExtracted(t *testing.T) {
	const n = 100
	extracting, release := make(chan struct{}), make(chan struct{})
	s := withModel(t, brain.Config{}, &model{reply: func(call int32, input string) (string, error) {
		extracting <- struct{}{}
		<-release
		return factPerMessage(call, input)
	}})
	for i := range n {
		name := fmt.Sprintf("talk-%d.md", i)
		_, err := s.CreateDocument(t.Context(), s.brain, protocol.CreateDocument{Path: name, Content: "I have a brother in Lima.", Source: protocol.SourceExtract})
		if err != nil {
			t.Fatal(err)
		}
		<-extracting
		deleted := make(chan error)
		go func() { deleted <- s.Delete(t.Context(), s.brain, name) }()
		release <- struct{}{}
		if err := <-deleted; err != nil {
			t.Fatal(err)
		}
	}
	s.extracted(t)
	if got := s.holds(t, "Lima"); len(got) > 0 {
		t.Errorf("it is still in %q", got)
	}
}
