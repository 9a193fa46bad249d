package jsonstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/jsonstream"
)

// member is a member of an object, with the offset and the text of its value.
type member struct {
	Key  string
	At   int64
	Text string
}

// split returns the members of the one object that src contains at this offset of a file.
func split(src io.Reader, offset int64) (members []member, err error) {
	r := jsonstream.New(src, offset)
	err = r.Members(func(key string) error {
		if _, err := r.Peek(); err != nil {
			return err
		}
		at := r.Offset()
		value, err := r.Value()
		members = append(members, member{key, at, string(value)})
		return err
	})
	if err == nil {
		err = r.End()
	}
	return members, err
}

// TestMembers checks where values begin and end, in one piece and byte by byte.
func TestMembers(t *testing.T) {
	const text = ` {"a" : 1.5e3,"b\u0022":"]\"\\" , "c":[{"}":"]"},[]], "a":null,"d":{}}` + "\n"
	want := []member{
		{"a", 108, "1.5e3"}, {`b"`, 124, `"]\"\\"`}, {"c", 138, `[{"}":"]"},[]]`},
		{"a", 158, "null"}, {"d", 167, "{}"},
	}
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
	} {
		got, err := split(src, 100)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestLargeValue checks values that are larger than one read of the source.
func TestLargeValue(t *testing.T) {
	large := `"` + strings.Repeat(`\"]`, 300_000) + `"`
	text := `[` + large + `, ` + large + `,7]`
	r := jsonstream.New(strings.NewReader(text), 0)
	n := 0
	err := r.Elements(func() error {
		if n++; n == 2 {
			return r.Skip()
		}
		value, err := r.Value()
		if want := map[int]string{1: large, 3: "7"}[n]; string(value) != want {
			t.Errorf("value %d has %d bytes, want %d", n, len(value), len(want))
		}
		return err
	})
	if err != nil || n != 3 || r.Offset() != int64(len(text)) {
		t.Errorf("got %d values up to byte %d, %v", n, r.Offset(), err)
	}
}

func TestErrors(t *testing.T) {
	const cut = "the file ends before its JSON does"
	for text, want := range map[string]string{
		"":              "byte 0: " + cut,
		" ":             "byte 1: " + cut,
		`{"a":`:         "byte 5: " + cut,
		`{"a":"\"`:      "byte 8: " + cut,
		`{"a":1`:        "byte 6: " + cut,
		"[]":            "byte 0: '[' where '{' should be",
		`{a:1}`:         "byte 1: 'a' where a key should be",
		`{"a" 1}`:       "byte 5: '1' where ':' should be",
		`{"\x":1}`:      "byte 6: the key before it is not valid: ",
		`{"a": ,}`:      "byte 6: ',' where a value should be",
		`{"a":1 "b":2}`: `byte 7: '"' where ',' or '}' should be`,
		`{"a":1,}`:      "byte 7: '}' where a key should be",
		`{} {}`:         "byte 3: '{' after the end",
	} {
		_, err := split(strings.NewReader(text), 0)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(broken))
	if _, err := split(src, 0); !errors.Is(err, broken) || err.Error() != "byte 8: broken" {
		t.Errorf("got %v", err)
	}
}

// TestCallerStops checks that an error of a callback ends the reading and is returned as it is.
func TestCallerStops(t *testing.T) {
	stop := errors.New("stop")
	r := jsonstream.New(strings.NewReader(`{"a":[1,2],"b":3}`), 0)
	var keys, elements int
	err := r.Members(func(string) error {
		keys++
		return r.Elements(func() error { elements++; return stop })
	})
	if err != stop || keys != 1 || elements != 1 { //nolint:errorlint // it must not be wrapped
		t.Errorf("got %v after %d keys and %d elements", err, keys, elements)
	}
}

func TestDecode(t *testing.T) {
	var into struct{ N int }
	if err := jsonstream.Decode([]byte(`{"n":7}`), 10, &into); err != nil || into.N != 7 {
		t.Errorf("got %d, %v", into.N, err)
	}
	for text, want := range map[string]string{
		`{"n":x}`:   "byte 15: invalid character 'x'",
		`{"n":"x"}`: "byte 18: N must not be a string",
		`[]`:        "byte 11: it must not be a array",
	} {
		err := jsonstream.Decode([]byte(text), 10, &into)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	err := jsonstream.At(3, io.ErrClosedPipe)
	if !errors.Is(err, io.ErrClosedPipe) || err.Error() != fmt.Sprint("byte 3: ", io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// FuzzReader checks that a text whose values are valid is split as encoding/json splits it, and
// that every object that encoding/json reads is read.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b": ["x\"]", {}], "a\u0022": null}`))
	f.Add([]byte(` { } `))
	f.Add([]byte(`{"a":tru}`))
	f.Add([]byte(`{"a":[}]}`))
	f.Add([]byte(`{"a":1"b":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := split(strings.NewReader(string(data)), 0)
		slow, slowErr := split(iotest.OneByteReader(strings.NewReader(string(data))), 0)
		if diff := cmp.Diff(got, slow); diff != "" || fmt.Sprint(err) != fmt.Sprint(slowErr) {
			t.Fatalf("byte by byte: %v instead of %v\n%s", slowErr, err, diff)
		}
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		if err != nil {
			if wantErr == nil && want != nil {
				t.Fatalf("rejected %q: %v", data, err)
			}
			return
		}
		last := map[string]string{}
		for _, m := range got {
			if text := data[m.At : m.At+int64(len(m.Text))]; string(text) != m.Text {
				t.Fatalf("%q is not at byte %d of %q", m.Text, m.At, data)
			}
			if !json.Valid([]byte(m.Text)) {
				return
			}
			last[m.Key] = m.Text
		}
		if wantErr != nil {
			t.Fatalf("accepted %q, but %v", data, wantErr)
		}
		texts := map[string]string{}
		for key, value := range want {
			texts[key] = string(value)
		}
		if diff := cmp.Diff(texts, last); diff != "" {
			t.Fatal(diff)
		}
	})
}
