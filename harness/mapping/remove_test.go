package mapping

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
	kept   map[string]bool
	delete func(ctx context.Context, id string) error
}

func (n *notes) call(ctx context.Context, o *operation, values map[string]any) (callReply, error) {
	if o.name == "remember" {
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
	s := fakeService(t, removeMapping, n.call)
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
		if err == nil || !strings.Contains(err.Error(), "999 of 1000 texts could not be deleted") || asked != 2 {
			t.Errorf("asked %d times: %v", asked, err)
		}
	})
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
