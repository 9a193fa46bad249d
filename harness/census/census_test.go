package census

import (
	"context"
	"errors"
	"testing"
)

var errFailed = errors.New("503")

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
		{`{"brains":[{"id":7,"brain_id":"main"}]}`, ``, `{}`, "main", ErrOld},
		{`{"items":[{"id":"0191-a","slug":"main"}]}`, ``, `{}`, "main", ErrOld},
		{`{"items":[]}`, `{"items":[{"id":"b"}]}`, welcome, "b", nil},
		{`{"items":[]}`, `{"items":[{"id":"b-1","slug":"b"}]}`, welcome, "b", nil},
		{`{"items":[{"id":"a"}]}`, `{"items":[{"id":"a"}]}`, welcome, "b", ErrOld},
		{`no`, `no`, welcome, "b", ErrOld},
		{`no`, `no`, `[{"path":"_index.md"},{"path":"a/.git/x"},{"path":"raw/"},{"path":"raw","is_dir":true}]`, "b", nil},
		{`no`, `no`, `no`, "b", nil},
		{`no`, `no`, `many`, "b", ErrOld},
		{`no`, `no`, `fails`, "b", errFailed},
	} {
		list := c.before
		census, err := Take(t.Context(), func(_ context.Context, brain string) ([]byte, error) {
			switch {
			case brain == "":
				return []byte(list), nil
			case brain != c.id:
				return nil, nil
			case c.docs == "many":
				return nil, ErrMany
			case c.docs == "fails":
				return nil, errFailed
			}
			return []byte(c.docs), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		list = c.after
		if err := census.New(t.Context(), c.id); !errors.Is(err, c.is) {
			t.Errorf("%s, %s, %s: %v", c.before, c.after, c.docs, err)
		}
	}
}

// TestUnknownBrains checks that a list which cannot be read is not taken for none.
func TestUnknownBrains(t *testing.T) {
	_, err := Take(t.Context(), func(context.Context, string) ([]byte, error) { return nil, errFailed })
	if !errors.Is(err, errFailed) {
		t.Error(err)
	}
}
