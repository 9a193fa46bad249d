package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"evalctl/docs"
	"evalctl/internal/filetest"
)

// TestSchemasAgree changes every value of files in many ways. A complete implementation of JSON
// Schema has to name the same violations.
func TestSchemasAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	library := librarySchemas(t)
	written := files(t)
	written["sweep"] = sweepOf(t)
	for name, path := range written {
		data := filetest.Read(t, path)
		file := mustDecode(t, data).(map[string]any)
		if name == "sweep" {
			cell := file["cells"].([]any)[0].(map[string]any)
			cell["questions"] = cell["questions"].([]any)[:1]
			file["cells"] = []any{cell}
			sameViolations(t, file, compiled().sweep, library[sweepURN])
			continue
		}
		questions := file["questions"].([]any)
		file["questions"] = []any{}
		sameViolations(t, file, compiled().head, library[resultURN])
		for i := 0; i < len(questions); i += 5 {
			sameViolations(t, questions[i], compiled().question, library[resultURN+"#/$defs/question"])
		}
	}
}

// sameViolations compares the violations of a value and of what becomes of it by changing a part.
func sameViolations(t *testing.T, root any, ours *schema, theirs *jsonschema.Schema) {
	t.Helper()
	changes, rejected := 0, 0
	vary(root, func(other any) { root = other }, func() {
		if changes++; t.Failed() || changes%61 != 0 { // all take minutes
			return
		}
		var got, unknown []string
		ours.check("", root, func(path, problem string) {
			if problem == "unknown key" {
				unknown = append(unknown, path+": "+problem)
			} else {
				got = append(got, path+": "+problem)
			}
		})
		if len(got) == 0 { // otherwise the library counts keys that are known as unknown too
			got = unknown
		}
		want := libraryViolations(theirs.Validate(root))
		if len(want) > 0 {
			rejected++
		}
		if got, want := comparable(got), comparable(want); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	if rejected < 10 {
		t.Errorf("only %d of %d changes are rejected", rejected, changes)
	}
}

// vary calls each with a value in which one part is changed, for many changes of every part. Of a list,
// only the first part is changed.
func vary(v any, set func(any), each func()) {
	for _, other := range []any{
		nil, true, "", "x", "fail", "stopped", "scored", "2025-02-30", "2025-01-01T00:00:00Z", json.Number("-1"), json.Number("0"), json.Number("0.5"),
		json.Number("1.0"), json.Number("7e3"), []any{}, []any{"a", "a"}, []any{json.Number("1"), json.Number("1.0")}, map[string]any{}, map[string]any{"a": "b"},
	} {
		set(other)
		each()
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range append(slices.Sorted(maps.Keys(v)), "Other") {
			old, known := v[key]
			delete(v, key)
			if known {
				each()
			}
			vary(old, func(other any) { v[key] = other }, each)
			if !known {
				delete(v, key)
			}
		}
	case []any:
		if len(v) > 0 {
			vary(v[0], func(other any) { v[0] = other }, each)
		}
	}
}

func librarySchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files := map[string]string{resultURN: "result.schema.json", sweepURN: "sweep.schema.json"}
	for urn, file := range files {
		data, err := docs.Schemas.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(urn, doc); err != nil {
			t.Fatal(err)
		}
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, urn := range []string{resultURN, resultURN + "#/$defs/question", sweepURN} {
		compiled[urn] = c.MustCompile(urn)
	}
	return compiled
}

// libraryViolations returns the causes of an error that have no further causes.
func libraryViolations(err error) []string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	var found, unknown []string
	var leaves func(e *jsonschema.ValidationError, key string)
	leaves = func(e *jsonschema.ValidationError, key string) {
		if name, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			key = fmt.Sprintf("key %s: ", display(name.Property))
		}
		for _, cause := range e.Causes {
			leaves(cause, key)
		}
		if len(e.Causes) > 0 {
			return
		}
		path := ""
		for _, key := range e.InstanceLocation {
			if _, err := strconv.Atoi(key); err == nil {
				path += "[" + key + "]"
			} else {
				path += step(key)
			}
		}
		if _, ok := e.ErrorKind.(*kind.FalseSchema); ok {
			unknown = append(unknown, path+": unknown key")
		} else {
			found = append(found, path+": "+key+e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
		}
	}
	leaves(invalid, "")
	if len(found) == 0 {
		return unknown
	}
	return found
}

// notCompared matches the reason why a date is none, and the numbers of limits, in whose notation
// the messages may differ.
var notCompared = regexp.MustCompile(`( is not valid date(-time)?: |(inimum|aximum): got ).*`)

// comparable returns violations in the same order and notation.
func comparable(violations []string) []string {
	for i, v := range violations {
		v = notCompared.ReplaceAllString(v+": ", "$1")
		if _, key, ok := strings.Cut(v, ": key "); ok { // the library has another path
			v = key
		}
		if _, keys, ok := strings.Cut(v, "additional properties "); ok { // in any order
			v += strconv.Itoa(len(keys))
		}
		if before, types, ok := strings.Cut(v, ", want "); ok {
			wanted := strings.Split(strings.TrimSuffix(types, ": "), " or ")
			slices.Sort(wanted)
			v = before + strings.Join(wanted, "|")
		}
		violations[i] = v
	}
	slices.Sort(violations)
	return slices.Compact(violations)
}
