package mapping

import (
	"context"
	"slices"
	"testing"

	"evalctl/harness/dataset"
)

// TestSharedID has a service that keeps equal texts once. What it finds belongs to all documents
// with the text, and a text is deleted with the last of them.
func TestSharedID(t *testing.T) {
	stored := map[string]bool{}
	call := func(_ context.Context, o *operation, values map[string]any) (callReply, error) {
		switch o.name {
		case "remember":
			stored["7"] = true
			return says(`{"id":7}`)
		case "delete":
			delete(stored, textOf(values["id"]))
			return says("")
		}
		return says(`[{"id":7,"t":"one"}]`)
	}
	mapping := `name: x
remember: {tool: r, arguments: {t: '{text}'}, reply: {id: $.id}}
search: {tool: s, arguments: {q: '{query}'}, reply: {items: '$[*]', text: $.t, id: $.id}}
update: {tool: u, arguments: {k: '{id}', t: '{text}'}}
delete: {tool: d, arguments: {k: '{id}'}}
`
	found := func(st *store, want ...string) {
		t.Helper()
		got, err := st.Search(t.Context(), "b", "one", 5)
		if err != nil || len(got) != 1 || !slices.Equal(append([]string{got[0].Path}, got[0].Duplicates...), want) {
			t.Errorf("got %+v, %v, want %q", got, err, want)
		}
	}
	st := create(t, fakeService(t, mapping, call), "b").(*store)
	for _, path := range []string{"a.md", "b.md", "b.md", "c.md"} {
		if err := st.Write(t.Context(), "b", []dataset.Doc{{Path: path, Data: []byte("one")}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	found(st, "c.md", "a.md", "b.md")
	notes, err := st.Notes("b")
	if err != nil {
		t.Fatal(err)
	}
	st = fakeService(t, mapping, call).Store("").(*store)
	if err := st.UseNotes("b", notes); err != nil {
		t.Fatal(err)
	}
	found(st, "c.md", "a.md", "b.md")
	for _, c := range []struct {
		path string
		left []string
	}{{"c.md", []string{"b.md", "a.md"}}, {"a.md", []string{"b.md"}}} {
		if err := st.Apply(t.Context(), "b", dataset.Operation{Op: dataset.OpDelete, Path: c.path}); err != nil || !stored["7"] {
			t.Errorf("%s: %v, stored %v", c.path, err, stored)
		}
		found(st, c.left...)
	}
	if err := st.Apply(t.Context(), "b", dataset.Operation{Op: dataset.OpDelete, Path: "b.md"}); err != nil || stored["7"] {
		t.Errorf("%v, stored %v", err, stored)
	}
}
