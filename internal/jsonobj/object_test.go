package jsonobj_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/jsonobj"
)

func Example() {
	o, err := jsonobj.Parse([]byte(`{"brainId": "b1", "items": [{"n": 2}, null], "took": 1.5}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	took, err := o.Number("took")
	fmt.Println(o.Text("brain_id", "brainId"), took, err, o.Get("missing") == nil)
	items, err := jsonobj.Objects(o.Get("items"), 100)
	fmt.Println(len(items), string(items[0].Get("n")), err)
	// Output:
	// b1 1.5 <nil> true
	// 2 2 <nil>
}

func TestObject(t *testing.T) {
	o, err := jsonobj.Parse([]byte(` {"a":"","b":1,"b":"two","c":{"d":"x"},"l":["s",{"k":1}],"n":null} `))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Text("a", "missing", "b"); got != "two" {
		t.Errorf("text: got %q, want the last b", got)
	}
	if got, err := o.Number("a", "c", "n"); got != 0 || err != nil {
		t.Errorf("number of values that are none: got %v, %v", got, err)
	}
	if got := o.Object("c").Text("d"); got != "x" {
		t.Errorf("nested object: got %q", got)
	}
	for _, key := range []string{"a", "b", "l", "n", "missing"} {
		if sub := o.Object(key); sub != nil {
			t.Errorf("%s is no object and was read as %v", key, sub)
		}
	}
	var elements []string
	for e := range jsonobj.Elements(o.Get("l")) {
		elements = append(elements, string(e))
	}
	if diff := cmp.Diff([]string{`"s"`, `{"k":1}`}, elements); diff != "" {
		t.Error(diff)
	}
	for range jsonobj.Elements(o.Get("c")) {
		t.Error("an object has elements")
	}
	if s, ok := jsonobj.String(o.Get("c")); ok {
		t.Errorf("an object is the string %q", s)
	}
	if s, ok := jsonobj.String(o.Get("a")); s != "" || !ok {
		t.Errorf("the empty string: got %q, %v", s, ok)
	}
}

func TestParseErrors(t *testing.T) {
	if _, err := jsonobj.Parse([]byte(`[1]`)); !errors.Is(err, jsonobj.ErrNotObject) {
		t.Errorf("a list: %v", err)
	}
	if _, err := jsonobj.Parse([]byte(`{"a"`)); !errors.As(err, new(*json.SyntaxError)) {
		t.Errorf("half an object: %v", err)
	}
}

func TestAppendKeepsOrderAndRepeatedKeys(t *testing.T) {
	o, err := jsonobj.Parse([]byte(`{"old":0}`))
	if err == nil {
		o, err = jsonobj.Append(o[:0], []byte(`{"a":1,"a":2,"b\u0031":3,"c":4}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for _, m := range o {
		members = append(members, string(m.Key)+string(m.Value))
	}
	if diff := cmp.Diff([]string{"a1", "a2", "b13", "c4"}, members); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse compares Parse with the standard library.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b":[{"x":"]}"},"\\""] , "a":null}`, `{"\u0061":"\ud800"}`, "{\"\xff\":\"\xff\"}",
		`[]`, `null`, `{"a":1}x`, `{"a"`, ``, ` `, `"{}"`, `{"a":{"b":{}},"c":-1e5}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		got, err := jsonobj.Parse(data)
		if (wantErr == nil && want != nil) != (err == nil) {
			t.Fatalf("%q: got %v, the standard library says %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		keys := map[string]json.RawMessage{}
		for _, m := range got {
			keys[string(m.Key)] = got.Get(string(m.Key))
		}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Fatal(diff)
		}
		for k, raw := range want {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				s = ""
			}
			if got.Text(k) != s {
				t.Fatalf("text of %s: got %q, want %q", raw, got.Text(k), s)
			}
		}
	})
}

// FuzzObjects compares Objects with the standard library.
func FuzzObjects(f *testing.F) {
	for _, s := range []string{
		`[]`, ` [ ] `, `[{"a":1}]`, `[ {"a":"]"} , null, {} ]`, `[1]`, `null`, `{}`, `"["`, `[[{}]]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		var want []map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		got, err := jsonobj.Objects(bytes.TrimSpace(data), len(data))
		if (err == nil) != (wantErr == nil) || err == nil && len(got) != len(want) {
			t.Fatalf("%q: got %d objects, %v, the standard library says %d, %v",
				data, len(got), err, len(want), wantErr)
		}
		for i, o := range got {
			for key, value := range want[i] {
				if string(o.Get(key)) != string(value) {
					t.Fatalf("%q: member %q of object %d: got %s, want %s", data, key, i, o.Get(key), value)
				}
			}
		}
	})
}
