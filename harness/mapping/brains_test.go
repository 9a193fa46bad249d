package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// shelf is a service over HTTP that gives ids to brains and texts.
type shelf struct {
	mu     sync.Mutex
	brains map[string][]shelfText // by id
	asked  []string               // the brains of searches
	gives  string                 // the id for every creation, if not a new one
}

type shelfText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/brains":
		if id = s.gives; id == "" {
			id = fmt.Sprintf("brain-%d", len(s.brains)+1)
			s.brains[id] = nil
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": id})
	case r.Method == http.MethodPost:
		var body struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		one := shelfText{fmt.Sprintf("text-%d", len(s.brains[id])+1), body.Text}
		s.brains[id] = append(s.brains[id], one)
		_ = json.NewEncoder(w).Encode(one)
	default:
		s.asked = append(s.asked, id)
		_ = json.NewEncoder(w).Encode(map[string]any{"found": append([]shelfText{}, s.brains[id]...)})
	}
}

const shelfMapping = `name: shelf
transport: http
brains: argument
create: {path: /brains, body: {name: "{brain}"}, reply: {id: $.id}}
remember: {path: "/{brain}/texts", body: {text: "{text}"}, reply: {id: $.id}}
search: {method: GET, path: "/{brain}/texts", query: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text, id: $.id}}
`

// openShelf connects to a shelf as another process would, which names its brains after a namespace.
func openShelf(t *testing.T, url, mapping, namespace string) *Service {
	t.Helper()
	s, err := Open(t.Context(), Config{Mapping: parsed(t, mapping), URL: url, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestFoundBrainKeepsItsName checks that a brain that was found, not created, is asked by its own
// name, also if created brains are in a namespace.
func TestFoundBrainKeepsItsName(t *testing.T) {
	t.Parallel()
	for _, brains := range []string{"argument", "reset"} {
		rack := &shelf{brains: map[string][]shelfText{}}
		web := httptest.NewServer(rack)
		defer web.Close()
		mapping := strings.Replace(shelfMapping, "brains: argument", "brains: "+brains, 1) + "reset: {path: /reset}\n"
		st := openShelf(t, web.URL, mapping, "evalctl-1-").Store("")
		id, err := st.Find(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Search(t.Context(), id, "q", 3); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rack.asked, []string{"alice"}) {
			t.Errorf("%s: asked %q", brains, rack.asked)
		}
	}
}

// TestNotes checks that another process asks the brain by the id that the service gave it, and knows
// the documents and dates of the texts to which the service gave ids.
func TestNotes(t *testing.T) {
	t.Parallel()
	rack := &shelf{brains: map[string][]shelfText{}}
	web := httptest.NewServer(rack)
	defer web.Close()
	first := openShelf(t, web.URL, shelfMapping, "evalctl-1-")
	st := first.Store("").(*store)
	id, err := st.Create(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	dated := dataset.Doc{Path: "raw/ada.md", Data: []byte("---\ndate: 2025-01-02\n---\n\nAda moved to Lisbon.\n")}
	if err := st.Write(t.Context(), id, []dataset.Doc{dated}, 1); err != nil {
		t.Fatal(err)
	}
	notes, err := st.Notes(id)
	if err != nil {
		t.Fatal(err)
	}
	second := openShelf(t, web.URL, shelfMapping, "evalctl-2-").Store("").(*store)
	if id, err = second.Find(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := second.UseNotes(id, notes); err != nil {
		t.Fatal(err)
	}
	got, err := second.Search(t.Context(), id, "lisbon", 3)
	if err != nil || len(got) != 1 || got[0].Path != dated.Path || !slices.Equal(rack.asked, []string{"brain-1"}) {
		t.Errorf("found %+v in %q, %v", got, rack.asked, err)
	}
	if date := second.brain(id).dateOf(dated.Path); date != "2025-01-02" {
		t.Errorf("the date is %q", date)
	}
	if err := second.UseNotes(id, []byte("{")); err == nil {
		t.Error("damaged notes are used")
	}
}

// TestNeededNotes checks which services need notes on a brain: those that give names to brains
// or texts, or whose brains are in a namespace.
func TestNeededNotes(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer("brains: argument", "brains: one", ", reply: {id: $.id}}", "}").Replace(shelfMapping)
	for _, c := range []struct {
		mapping, namespace string
		needed             bool
	}{
		{plain, "evalctl-1-", false},
		{strings.Replace(shelfMapping, "brains: argument", "brains: one", 1), "", true},
		{strings.Replace(plain, "brains: one", "brains: argument", 1), "evalctl-1-", true},
		{strings.Replace(plain, "brains: one", "brains: argument", 1), "", false},
	} {
		st := openShelf(t, "http://127.0.0.1:1", c.mapping, c.namespace).Store("").(*store)
		if err := st.UseNotes("b", nil); errors.Is(err, target.ErrMissing) != c.needed || (err != nil) != c.needed {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// TestSentIDsAreNotNoted checks that notes do not list ids from which the document follows.
func TestSentIDsAreNotNoted(t *testing.T) {
	b := &brain{name: "b", paths: map[string]string{"a.md": "a.md", "a.md#2": "a.md", "uuid": "a.md"}}
	got, err := b.notes(nil)
	if want := `{"brain":"b","paths":{"uuid":"a.md"}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestCreateExistingBrain checks that a brain that the service had before is not taken for a new
// one, which a reset would empty.
func TestCreateExistingBrain(t *testing.T) {
	t.Parallel()
	for id, exists := range map[string]bool{"mine": true, "new": false} {
		rack := &shelf{brains: map[string][]shelfText{"mine": {{"text-1", "precious"}}}, gives: id}
		web := httptest.NewServer(rack)
		defer web.Close()
		reset := "reset: {method: DELETE, path: \"/{brain}\"}\n"
		st := openShelf(t, web.URL, shelfMapping+reset, "evalctl-1-").Store("")
		if _, err := st.Create(t.Context(), "a"); errors.Is(err, target.ErrExists) != exists || err != nil != exists {
			t.Errorf("%s: %v", id, err)
		}
		rack.asked = nil
		if err := st.Remove(t.Context(), "", "a"); err != nil || slices.Contains(rack.asked, "mine") {
			t.Errorf("%s: removed %q, %v", id, rack.asked, err)
		}
	}
}

// TestCreateChecksAgain checks that a search that fails does not show that a brain is new: only a
// refusal does.
func TestCreateChecksAgain(t *testing.T) {
	busy := target.TransientFailure(result.KindStatus, "busy", 0)
	for _, c := range []struct {
		failure error
		ever    bool // it is that of all searches, not of the first one
		exists  bool
		fails   bool
	}{
		{busy, false, true, true}, {target.ErrNoAnswer, false, true, true}, {busy, true, false, true},
		{status(http.StatusNotFound), true, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			searched := 0
			s := fakeService(t, shelfMapping+"reset: {path: /reset}\n", func(_ context.Context, o *operation, _ map[string]any) (callReply, error) {
				if o.name != "search" {
					return says(`{"id": "mine"}`)
				}
				if searched++; searched == 1 || c.ever {
					return callReply{}, c.failure
				}
				return says(`{"found": [{"id": "text-1", "text": "precious"}]}`)
			})
			_, err := s.Store("").Create(t.Context(), "a")
			if errors.Is(err, target.ErrExists) != c.exists || (err != nil) != c.fails {
				t.Errorf("%v: got %v", c.failure, err)
			}
		})
	}
}
