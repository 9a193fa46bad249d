package census

import (
	"context"
	"errors"
	"testing"
)

// TestLists checks which brains are new by lists in forms that daemons return.
func TestLists(t *testing.T) {
	const welcome = `{"items":[{"path":"welcome.md"}]}`
	for _, c := range []struct {
		before, after, docs, id string
		is                      error
	}{
		{`{"items":[{"id":"main"}]}`, ``, `{}`, "main", ErrOld},
		{`[{"brain_id":"main"}]`, ``, `{}`, "main", ErrOld},
		{`{"brains":[{"id":7}]}`, ``, `{}`, "7", ErrOld},
		{`{"items":[]}`, `{"items":[{"id":"b"}]}`, welcome, "b", nil},
		{`{"items":[]}`, `{"items":[{"id":"b-1","slug":"b"}]}`, welcome, "b", nil},
		{`{"items":[{"id":"a"}]}`, `{"items":[{"id":"a"}]}`, welcome, "b", ErrOld},
		{`no`, `no`, welcome, "b", ErrOld},
		{`no`, `no`, `[{"path":"_index.md"},{"path":"a/.git/x"},{"path":"raw/"}]`, "b", nil},
		{`no`, `no`, `no`, "b", nil},
	} {
		list := c.before
		census := Take(t.Context(), func(_ context.Context, brain string) (int, []byte) {
			switch brain {
			case "":
				return 200, []byte(list)
			case c.id:
				return 200, []byte(c.docs)
			}
			return 404, nil
		})
		list = c.after
		if err := census.New(t.Context(), c.id); !errors.Is(err, c.is) {
			t.Errorf("%s, %s, %s: %v", c.before, c.after, c.docs, err)
		}
	}
}
