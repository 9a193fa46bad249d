package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

const removeMapping = `name: x
transport: http
remember: {path: /notes, body: {t: '{text}'}, reply: {id: $.id}}
search: {path: /find, body: {q: '{query}'}, reply: {items: '$[*]', text: $}}
delete: {method: DELETE, path: '/notes/{id}'}
`

// notes has what was written and not deleted, by id. delete is what it does besides, nil for
// nothing.
type notes struct {
	mapping string // removeMapping if empty

	mu     sync.Mutex
	kept   map[string]bool
	delete func(ctx context.Context, id string) error
}

func (n *notes) call(ctx context.Context, o *operation, values map[string]any) (callReply, error) {
	if o.name == "remember" {
		n.mu.Lock()
		defer n.mu.Unlock()
		id := fmt.Sprintf("n%04d", len(n.kept)+1)
		n.kept[id] = true
		return says(`{"id": "` + id + `"}`)
	}
	id, _ := values["id"].(string)
	if n.delete != nil {
		if err := n.delete(ctx, id); err != nil {
			return callReply{}, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.kept, id)
	return says("")
}

// status is the failure of a response.
func status(code int) error {
	f := target.NewFailure(result.KindStatus, http.StatusText(code))
	f.Status = code
	return f
}

// written writes n documents to a brain of a service and returns the service.
func (n *notes) written(t *testing.T, docs int) *Service {
	t.Helper()
	n.kept = map[string]bool{}
	s := fakeService(t, cmp.Or(n.mapping, removeMapping), n.call)
	var all []dataset.Doc
	for i := range docs {
		all = append(all, dataset.Doc{Path: fmt.Sprintf("%d.md", i), Data: []byte("text")})
	}
	if err := create(t, s, "b").Write(t.Context(), "b", all, 1); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRemoveWhatIsGone has a service that has dropped some texts by itself.
func TestRemoveWhatIsGone(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusGone} {
		n := &notes{}
		n.delete = func(_ context.Context, id string) error {
			if id == "n0002" {
				return nil
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.kept, id)
			return status(code)
		}
		s := n.written(t, 3)
		if err := s.Store("").Remove(t.Context(), "b", "b"); err != nil || len(n.kept) > 0 || len(s.Seen().Findings) > 0 {
			t.Errorf("%d: left %v, %v, %q", code, n.kept, err, s.Seen().Findings)
		}
	}
}

// TestRemoveTheOthers has texts that cannot be deleted. The others are, and the error says how
// many are left, in one line.
func TestRemoveTheOthers(t *testing.T) {
	n := &notes{delete: func(_ context.Context, id string) error {
		if id < "n0003" {
			return status(http.StatusInternalServerError)
		}
		return nil
	}}
	s := n.written(t, 5)
	err := s.Store("").Remove(t.Context(), "b", "b")
	const want = "2 of 5 texts could not be deleted, such as \"n0001\": Internal Server Error"
	if err == nil || err.Error() != want || len(n.kept) != 2 {
		t.Errorf("left %v: %v", n.kept, err)
	}
	if got := s.Seen().Findings; len(got) != 1 || !strings.Contains(got[0], `brain "b"`) || !strings.Contains(got[0], want) {
		t.Errorf("findings %q", got)
	}
}

// TestRemoveTakesItsTime has a service that deletes as many texts as there are, and one that
// stops to answer.
func TestRemoveTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{delete: func(context.Context, string) error { time.Sleep(100 * time.Millisecond); return nil }}
		s := n.written(t, 1000)
		if err := s.Store("").Remove(t.Context(), "b", "b"); err != nil || len(n.kept) > 0 {
			t.Errorf("left %d, %v", len(n.kept), err)
		}
		asked := 0
		n = &notes{delete: func(ctx context.Context, _ string) error {
			if asked++; asked == 1 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		s = n.written(t, 1000)
		err := s.Store("").Remove(t.Context(), "b", "b")
		if err == nil || !strings.Contains(err.Error(), "999 of 1000 texts could not be deleted") || asked != 3 || !errors.Is(err, target.ErrNoAnswer) {
			t.Errorf("asked %d times: %v", asked, err)
		}
	})
}

// TestOneTextIsNotAnswered has a service that does not answer for one text. It has not stopped
// to answer, so that other brains can be removed.
func TestOneTextIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{delete: func(ctx context.Context, id string) error {
			if id != "n0001" {
				time.Sleep(time.Second)
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		n.mapping = removeMapping + "writes: 2\n"
		s := n.written(t, 100)
		err := s.Store("").Remove(t.Context(), "b", "b")
		if err == nil || !strings.Contains(err.Error(), "1 of 100 texts") || errors.Is(err, target.ErrNoAnswer) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRemoveAtOnce checks that as many texts are deleted at a time as are written.
func TestRemoveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{mapping: removeMapping + "writes: 4\n"}
		n.delete = func(context.Context, string) error { time.Sleep(time.Second); return nil }
		s := n.written(t, 8)
		start := time.Now()
		if err := s.Store("").Remove(t.Context(), "b", "b"); err != nil || time.Since(start) != 2*time.Second || len(n.kept) > 0 {
			t.Errorf("left %d after %v, %v", len(n.kept), time.Since(start), err)
		}
	})
}

// TestRemoveByReset checks which failures of a reset mean that the service does not answer, and
// that the error has the service's name of the brain.
func TestRemoveByReset(t *testing.T) {
	for _, c := range []struct {
		reset  func(ctx context.Context) error
		silent bool
	}{
		{func(context.Context) error { return status(http.StatusInternalServerError) }, false},
		{func(context.Context) error {
			f := target.TransientFailure(result.KindStatus, "busy", 0)
			f.Status = http.StatusServiceUnavailable
			return f
		}, true},
		{func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := fakeService(t, removeMapping+"reset: {method: DELETE, path: /notes, within: 10s}\n", func(ctx context.Context, _ *operation, _ map[string]any) (callReply, error) {
				return callReply{}, c.reset(ctx)
			})
			s.brain("b").setID("b-17")
			err := s.Store("").Remove(t.Context(), "b", "b")
			if err == nil || !strings.Contains(err.Error(), `"b-17"`) || errors.Is(err, target.ErrNoAnswer) != c.silent {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNotedTexts checks that another process deletes what was written, also if the service
// deletes by the text.
func TestNotedTexts(t *testing.T) {
	for _, mapping := range []string{
		removeMapping,
		strings.NewReplacer(", reply: {id: $.id}", "", "path: '/notes/{id}'", "path: /notes, body: {t: '{text}', d: '{date}'}").Replace(removeMapping),
	} {
		var calls []map[string]any
		n := &notes{mapping: mapping}
		first := n.written(t, 3)
		data, err := first.Store("").(*store).Notes("b")
		if err != nil {
			t.Fatal(err)
		}
		second := fakeService(t, mapping, func(_ context.Context, o *operation, values map[string]any) (callReply, error) {
			sent, _ := o.arguments.render(values).(map[string]any)
			calls = append(calls, map[string]any{"path": o.path.text(values), "body": sent})
			return says("")
		})
		st := second.Store("").(*store)
		if err := st.UseNotes("b", data); err != nil {
			t.Fatal(err)
		}
		if err := st.Remove(t.Context(), "b", "b"); err != nil || len(calls) != 3 {
			t.Errorf("%v: %v", calls, err)
		}
		want := map[string]any{"path": "/notes/n0001", "body": map[string]any(nil)}
		if mapping != removeMapping {
			want = map[string]any{"path": "/notes", "body": map[string]any{"t": "text"}}
		}
		if len(calls) > 0 && !reflect.DeepEqual(calls[0], want) {
			t.Errorf("called %v, want %v", calls[0], want)
		}
		if ids := second.brain("b").idsOf("0.md"); len(ids) > 0 {
			t.Errorf("left %q", ids)
		}
	}
}

// TestFailedDeletes checks that an operation that deletes nothing fails: the text may be
// elsewhere.
func TestFailedDeletes(t *testing.T) {
	n := &notes{delete: func(context.Context, string) error { return status(http.StatusNotFound) }}
	s := n.written(t, 1)
	if err := s.Store("").Apply(t.Context(), "b", dataset.Operation{Op: dataset.OpDelete, Path: "0.md"}); err == nil {
		t.Error("a document that was not found is deleted")
	}
}

// TestUnansweredWrites has a service that stores a text and does not say so. Removing deletes it by
// the id that was sent, or says that it may be left, where only the service knows the id. A load
// test does not say this, because it cuts its requests.
func TestUnansweredWrites(t *testing.T) {
	sent := strings.NewReplacer("{t: '{text}'}, reply: {id: $.id}", "{t: '{text}', id: '{id}'}").Replace(removeMapping)
	cut := target.NewFailure(result.KindTransport, "unexpected EOF")
	for _, c := range []struct {
		mapping  string
		failure  error
		loadTest bool
		deleted  []string
		left     string
	}{
		{removeMapping, cut, false, nil, `1 text may still be stored, such as that of "a.md"`},
		{removeMapping, cut, true, nil, ""},
		{removeMapping, status(http.StatusInternalServerError), false, nil, "1 text may still be stored"},
		{removeMapping, target.ErrNoAnswer, false, nil, "1 text may still be stored"},
		{removeMapping, status(http.StatusBadRequest), false, nil, ""},
		{removeMapping, target.NewFailure(result.KindDaemon, "the index is broken"), false, nil, ""},
		{removeMapping, unreachable(t), false, nil, ""},
		{sent, cut, false, []string{"a.md"}, ""},
		{sent, cut, true, []string{"a.md"}, ""},
	} {
		var deleted []string
		s := fakeService(t, c.mapping, func(_ context.Context, o *operation, values map[string]any) (callReply, error) {
			if o.name == "remember" {
				return callReply{}, c.failure
			}
			deleted = append(deleted, textOf(values["id"]))
			return says("")
		})
		st := create(t, s, "b")
		ctx := t.Context()
		if c.loadTest {
			ctx = target.WithoutRetries(ctx)
		}
		if err := st.Write(ctx, "b", []dataset.Doc{{Path: "a.md", Data: []byte("one")}}, 1); err == nil {
			t.Errorf("%v: written", c.failure)
		}
		err := st.Remove(t.Context(), "b", "b")
		if !slices.Equal(deleted, c.deleted) || (err != nil) != (c.left != "") || err != nil && !strings.Contains(err.Error(), c.left) {
			t.Errorf("%v: deleted %q, got %v", c.failure, deleted, err)
		}
	}
}

// unreachable is the failure of a call to a service that accepts no connection.
func unreachable(t *testing.T) error {
	t.Helper()
	web := httptest.NewServer(nil)
	s := openShelf(t, web.URL, removeMapping, "")
	web.Close()
	err := s.Store("").Write(t.Context(), "b", []dataset.Doc{{Path: "a.md", Data: []byte("one")}}, 1)
	f, ok := target.AsFailure(err)
	if !ok {
		t.Fatal(err)
	}
	return f
}

// TestRemoveSaysBoth has a service that deletes no text, and did not say whether it wrote
// another one.
func TestRemoveSaysBoth(t *testing.T) {
	n := &notes{delete: func(context.Context, string) error { return status(http.StatusInternalServerError) }}
	s := n.written(t, 1)
	o := s.mapping.remember
	s.brain("b").doubt(t.Context(), o, call{texts: []text{{path: "a.md"}}})
	err := s.Store("").Remove(t.Context(), "b", "b")
	const want = "1 of 1 texts could not be deleted, such as \"n0001\": Internal Server Error; 1 text may still be stored, "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
