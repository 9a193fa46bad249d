package mapping

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"evalctl/docs"
)

func schemaText(t *testing.T) []byte {
	t.Helper()
	text, err := docs.Schemas.ReadFile("mapping.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSchema checks that the schema of mapping files accepts the files that are read, and not others.
func TestSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:evalctl:mapping:1", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:evalctl:mapping:1")
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte) error {
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(instance)
	}
	files := map[string]string{"web": webMapping, "memo": memoMapping, "stub": stubMapping}
	for _, m := range Builtin() {
		data, err := m.Source()
		if err != nil {
			t.Fatal(err)
		}
		files[m.Name] = string(data)
	}
	for name, text := range files {
		if err := check([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"name: x\nnane: y\n", "about: y\n", "name: x\nsearch: {tol: y}\n", "name: x\nsearch: {reply: {itens: $}}\n", "name: x\nready: {tool: y}\n", "name: x\nwrites: 0\n",
		"name: x\nsearch: {path: '/s?q={query}'}\n", "name: x\nsearch: {path: /s, query: {q: {a: b}}}\n", "name: x\nsearch: {path: /s, query: {q: [[a]]}}\n",
	} {
		if err := check([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestSchemaHasAllKeys compares the keys of the schema with those that the parser knows, which an error
// about another key lists.
func TestSchemaHasAllKeys(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage
	}
	var s struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText(t), &s); err != nil {
		t.Fatal(err)
	}
	for text, properties := range map[string]map[string]json.RawMessage{
		"zzz: 1":                    s.Properties,
		"search: {zzz: 1}":          s.Defs["fields"].Properties,
		"search: {reply: {zzz: 1}}": s.Defs["reply"].Properties,
	} {
		_, err := Parse("m.yaml", []byte(text))
		_, list, found := strings.Cut(err.Error(), " has ")
		if !found {
			t.Fatal(err)
		}
		known := strings.Split(list, ", ")
		slices.Sort(known)
		if diff := cmp.Diff(known, slices.Sorted(maps.Keys(properties))); diff != "" {
			t.Errorf("%s (-parser +schema):\n%s", text, diff)
		}
	}
}
