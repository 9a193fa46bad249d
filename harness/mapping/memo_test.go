package mapping

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// memo is a service over HTTP that takes several texts in a call, gives them ids of its own, finds them
// only once they are indexed, and answers in pages of columns.
type memo struct {
	mu       sync.Mutex
	texts    map[string]string // by id
	written  int
	indexed  map[string]string
	busy     int // requests to write that are refused first
	indexing int // questions whether it is ready that it denies
	stuck    bool
	calls    []string // method, path and body
}

func (m *memo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	shown, _ := json.Marshal(body)
	m.calls = append(m.calls, r.Method+" "+r.URL.Path+" "+string(shown))
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch route := r.Method + " " + r.URL.Path; {
	case r.Header.Get("X-User") != "evalctl":
		w.WriteHeader(http.StatusForbidden)
	case route == "POST /add" && m.busy > 0:
		m.busy--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case route == "POST /add":
		ids := []string{}
		for _, item := range body["memories"].([]any) {
			m.written++
			id := fmt.Sprintf("n%d", m.written)
			m.texts[id] = fmt.Sprint(item.(map[string]any)["content"])
			ids = append(ids, id)
		}
		reply(map[string]any{"ids": ids})
	case route == "POST /index":
		m.indexed = map[string]string{}
		for id, text := range m.texts {
			m.indexed[id] = text
		}
		reply("ok")
	case route == "GET /status":
		if m.indexing--; m.stuck {
			m.indexing = 1
		}
		reply(map[string]any{"state": map[string]any{"busy": m.indexing > 0}, "left": m.indexing})
	case route == "POST /search" && body["q"] == "explode":
		reply(map[string]any{"status": "error", "detail": "index is broken"})
	case route == "POST /search" && body["q"] == "shapeless":
		reply(map[string]any{"message": "try again"})
	case route == "POST /search":
		m.search(body, reply)
	case r.Method == http.MethodPut:
		m.texts[strings.TrimPrefix(r.URL.Path, "/notes/")] = fmt.Sprint(body["content"])
	case route == "POST /forget":
		for id, text := range m.texts {
			if text == body["exactly"] {
				delete(m.texts, id)
			}
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// search replies with the second page on from an offset, two texts at a time.
func (m *memo) search(body map[string]any, reply func(any)) {
	var ids []string
	for id, text := range m.indexed {
		if strings.Contains(text, body["q"].(string)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	from := min(int(body["offset"].(float64)), len(ids))
	ids = ids[from:min(from+2, len(ids))]
	texts, dates := []string{}, []string{}
	for _, id := range ids {
		texts, dates = append(texts, m.indexed[id]), append(dates, time.Now().UTC().Format(time.RFC3339))
	}
	reply(map[string]any{"ids": [][]string{ids}, "documents": [][]string{texts}, "created": dates})
}

const memoMapping = `name: memo
transport: http
headers: {X-User: evalctl}
error: ['"status":\s*"error"']
writes: 2
remember:
  path: /add
  texts: 2
  item: {content: "{text}", metadata: {source: "{id}"}}
  body: {memories: "{items}"}
  reply: {items: "$.ids[*]", id: $}
finish: {path: /index}
ready: {method: GET, path: /status, within: 200ms, until: {at: $.state.busy, is: false}, progress: $.left}
search:
  path: /search
  body: {q: "{query}", offset: "{offset}"}
  reply: {columns: true, text: "$.documents[0][*]", id: "$.ids[0][*]", date: "$.created[*]"}
update: {method: PUT, path: "/notes/{id}", body: {content: "{text}"}}
delete: {path: /forget, body: {exactly: "{text}"}}
`

// memoDocs are documents of which each is one text. The first has a date.
func memoDocs(n int) (docs []dataset.Doc) {
	for i := range n {
		docs = append(docs, dataset.Doc{Path: fmt.Sprintf("d/%d.md", i), Data: fmt.Appendf(nil, "Note %d.", i)})
	}
	docs[0].Data = []byte("---\ndate: 2025-01-02\n---\nNote 0.")
	return docs
}

func openMemo(t *testing.T, m *memo, mapping string) *Service {
	t.Helper()
	m.texts = map[string]string{}
	web := httptest.NewServer(m)
	t.Cleanup(web.Close)
	s, err := Open(t.Context(), Config{Mapping: parsed(t, mapping), URL: web.URL, Concurrency: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestMemo checks what a mapping can say besides single texts: several in a call, a call after writes, a
// condition to wait for, columns, pages, ids of the service, an update, and deleting by a text.
func TestMemo(t *testing.T) {
	m := &memo{busy: 2, indexing: 3}
	s := openMemo(t, m, memoMapping)
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", memoDocs(5), 8); err != nil {
		t.Fatal(err)
	}
	got, err := st.Search(t.Context(), "b", "Note", 4)
	if err != nil || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range got { // in the order in which two writers wrote them
		if want := fmt.Sprintf("Note %s.", strings.TrimSuffix(strings.TrimPrefix(c.Path, "d/"), ".md")); c.Text != want {
			t.Errorf("%s has the text %q", c.Path, c.Text)
		}
	}
	if s.Lacks(target.Dates) != "" || got[0].Date != "" || !strings.Contains(s.Seen().NotMeasurable["dates"], "its own clock") {
		t.Errorf("the clock of the service: %v, %v", got[0].Date, s.Seen().NotMeasurable)
	}
	for _, op := range []dataset.Operation{
		{Op: dataset.OpPut, Path: "d/1.md", Text: "Changed."}, {Op: dataset.OpDelete, Path: "d/2.md"},
	} {
		if err := st.Apply(t.Context(), "b", op); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := st.Search(t.Context(), "b", "Changed", 5); err != nil || len(got) != 1 || got[0].Path != "d/1.md" {
		t.Errorf("the update: %v, %v", got, err)
	}
	if got, err := st.Search(t.Context(), "b", "Note 2", 5); err != nil || len(got) != 0 {
		t.Errorf("deleted: %v, %v", got, err)
	}
	want := map[string]int{"POST /add": 5, "POST /index": 2, "POST /search": 5, "POST /forget": 1, "PUT /notes/{id}": 1}
	calls := s.Seen().Calls
	delete(calls, "GET /status")
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(m.calls, func(c string) bool { return strings.HasSuffix(c, ` {"content":"Changed.\n"}`) }) || !slices.Contains(m.calls, `POST /forget {"exactly":"Note 2."}`) {
		t.Errorf("calls %q", m.calls)
	}
}

// TestToldErrors checks that an error told in a reply, and a reply of another form, are failures.
func TestToldErrors(t *testing.T) {
	s := openMemo(t, &memo{}, memoMapping)
	create(t, s, "b")
	asked := &target.Target{Service: s, Brains: map[string]string{"": "b"}, Scenario: result.SearchOnly, TopK: 3}
	for query, want := range map[string]string{
		"explode":   `POST /search reports an error in its reply: {"detail":"index is broken","status":"error"}`,
		"shapeless": "the reply of POST /search: there is nothing at $[\"documents\"][0][*] (it has the keys message), where the mapping expects a value",
	} {
		_, err := asked.Ask(t.Context(), dataset.Question{Question: query}, time.Minute)
		if f, ok := target.AsFailure(err); !ok || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestNeverReady checks that a service that is not ready in time is searched as it is, and that the
// result says so.
func TestNeverReady(t *testing.T) {
	s := openMemo(t, &memo{stuck: true}, memoMapping)
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", memoDocs(1), 1); err != nil {
		t.Fatal(err)
	}
	if got, err := st.Search(t.Context(), "b", "Note", 4); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	s.Unfound(3, 10)
	s.Unfound(1, 1)
	want := []string{
		"4 of 11 documents that were written were never found by their own words",
		"GET /status did not say within 200ms that the written texts are ready, and they were searched nevertheless",
	}
	if diff := cmp.Diff(want, s.Seen().Findings); diff != "" {
		t.Error(diff)
	}
}

// TestMessages checks that a conversation becomes the messages of one call.
func TestMessages(t *testing.T) {
	m := parsed(t, `name: x
turns: {per: session, tool: a, texts: 2, item: {role: "{role}", content: "{text}", at: "{date}"}, arguments: {user: "{brain}", messages: "{items}", run: "{session}"}}
search: {tool: s, arguments: {q: '{query}'}, reply: {text: $.t}}
`)
	c := target.Conversation{ID: "s1", Path: "s1.md", Date: "2025-01-02", Turns: []target.Turn{
		{Role: "user", Text: "one"}, {Role: "assistant", Text: "two", Date: "2025-01-03"}, {Role: "user", Name: "Ada", Text: "three"},
	}}
	var got []string
	for _, c := range conversationCalls(c, m.per, m.turns) {
		data, err := json.Marshal(m.turns.arguments.render(c.render(m.turns, "b")))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(data))
	}
	want := []string{
		`{"messages":[{"at":"2025-01-02","content":"user: one","role":"user"},{"at":"2025-01-03","content":"assistant: two","role":"assistant"}],"run":"s1","user":"b"}`,
		`{"messages":[{"at":"2025-01-02","content":"Ada: three","role":"user"}],"run":"s1","user":"b"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestShapes checks which replies mean that nothing was found, and which have another form.
func TestShapes(t *testing.T) {
	read := func(how string, texts ...string) (int, error) {
		r := parsed(t, "name: x\nsearch: {tool: s, arguments: {q: '{query}'}, reply: "+how+"}\n").search.reply
		p, err := r.read(t.Context(), callReply{texts: texts}, "s")
		return len(p.items), err
	}
	for _, c := range []struct {
		how, text string
		items     int // -1 for an error
	}{
		{"{items: '$.r[*]', text: $.t}", `{"r":[]}`, 0},
		{"{items: '$.r[*]', text: $.t}", `{"r":null}`, 0},
		{"{items: '$.r[*]', text: $.t}", `{"results":[]}`, -1},
		{"{items: '$.r[*]', text: $.t}", `[]`, -1},
		{"{items: '$.r[*]', text: $.t}", `{"r":[{"content":"a"}]}`, -1},
		{"{items: '$.r[*]', text: $.t}", `{"r":[{"t":"a"},{"u":1}]}`, 2},
		{"{items: '$.r[*]', text: '$.lines[*]'}", `{"r":[{"lines":[]}]}`, 1},
		{"{items: '$.r[*].hits[*]', text: $.t}", `{"r":[]}`, 0},
		{"{items: '$.r[*].hits[*]', text: $.t}", `{"r":[{"x":1}]}`, -1},
		{"{items: '$.r[*]', text: $.t, none: '^No memories'}", `No memories found.`, 0},
		{"{text: $.answer}", `{"answer":""}`, 0},
		{"{text: $.answer}", `{"message":"x"}`, -1},
		{"{format: text, none: '^$'}", "", 0},
		{"{format: text}", "", -1},
		{"{format: text, pattern: '(?m)^- (?P<text>.*)$'}", "# Search Failed", -1},
		{"{format: text, pattern: '(?m)^- (?P<text>.*)$', none: '^Nothing'}", "Nothing", 0},
		{"{format: text, pattern: '(?m)^- (?P<text>.*)$'}", "Found:\n- a\n- b", 2},
		{"{format: text, split: '\\n#+ '}", "# a\n## b\n### c", 3},
		{"{columns: true, text: '$.t[*]', id: '$.i[*]'}", `{"t":["a","b"],"i":[1,2]}`, 2},
		{"{columns: true, text: '$.t[*]', id: '$.i[*]'}", `{"t":["a","b"],"i":[1]}`, -1},
		{"{columns: true, text: '$.t[*]', id: '$.i[*]'}", `{"t":[],"i":[]}`, 0},
		{"{columns: true, text: '$.t[*]', id: '$.i[*]'}", `{"error":"x"}`, -1},
	} {
		got, err := read(c.how, c.text)
		if (err != nil) != (c.items < 0) || err == nil && got != c.items {
			t.Errorf("%s of %q: %d, %v", c.how, c.text, got, err)
		}
	}
}

// TestGatewayOfARunningService checks that the cost of a service which was running already is unknown,
// because nobody gave it the address of a gateway.
func TestGatewayOfARunningService(t *testing.T) {
	m := strings.Replace(memoMapping, "transport: http\n", "transport: http\nenv: {LLM_URL: '{gateway}', LLM_KEY: '{gateway_key}'}\n", 1)
	s := openMemo(t, &memo{}, m)
	if got := s.Seen().Models; got != result.ModelsUnknown {
		t.Errorf("running: %s", got)
	}
	env, err := s.Environment([]string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_API_KEY=k"}, t.TempDir())
	if err != nil || strings.Join(env, " ") != "LLM_KEY=k LLM_URL=http://127.0.0.1:1/v1" || s.Seen().Models != result.ModelsGateway {
		t.Errorf("started: %q, %v, %s", env, err, s.Seen().Models)
	}
}
