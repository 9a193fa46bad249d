package jsonobj_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/jsonobj"
)

// valuesOf counts the values and the containers of a tree.
func valuesOf(v any) (values, containers int64) {
	values = 1
	add := func(inner any) {
		n, c := valuesOf(inner)
		values, containers = values+n, containers+c
	}
	switch v := v.(type) {
	case []any:
		containers++
		for _, e := range v {
			add(e)
		}
	case map[string]any:
		containers++
		for _, e := range v {
			add(e)
		}
	}
	return values, containers
}

// TestCost checks that no tree has more values than its text is said to cost.
func TestCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaf := rapid.OneOf(rapid.Just(any(nil)), rapid.Map(rapid.StringMatching(`[ab,:"\\\\{}\[\]]{0,6}`), func(s string) any { return s }),
			rapid.Map(rapid.Float64Range(-9, 9), func(f float64) any { return f }))
		var tree func(depth int) *rapid.Generator[any]
		tree = func(depth int) *rapid.Generator[any] {
			if depth == 0 {
				return leaf
			}
			return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(tree(depth-1), 0, 4), func(l []any) any { return l }),
				rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-c,"]{1,3}`), tree(depth-1), 0, 4), func(m map[string]any) any { return m }))
		}
		v := tree(3).Draw(t, "tree")
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		values, containers := valuesOf(v)
		least, most := values*24+containers*128, (2*values+1)*48+containers*256
		if got := jsonobj.Cost(text); got < least || got > most {
			t.Fatalf("%s costs %d, not %d to %d", text, got, least, most)
		}
	})
}

func TestObjectsBound(t *testing.T) {
	if got, err := jsonobj.Objects([]byte(`[{},{},{}]`), 3); len(got) != 3 || err != nil {
		t.Error(got, err)
	}
	if _, err := jsonobj.Objects([]byte(`[{},{},{}]`), 2); err == nil || err.Error() != "the list has more than 2 entries" {
		t.Error(err)
	}
	if _, err := jsonobj.Bound([]byte("["+strings.Repeat("0,", 1000)+"0]"), 1<<10); err == nil {
		t.Error("not refused")
	}
	o, err := jsonobj.Parse([]byte(`{"score":1e999,"other":"NaN","n":-0}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Number("score"); err == nil || err.Error() != `"score": "1e999" is beyond 1e+15` {
		t.Error(err)
	}
	if n, err := o.Number("other", "n"); n != 0 || err != nil {
		t.Error(n, err)
	}
}
