package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"evalctl/internal/goldentest"
)

// specified repeats spec 4.1: the arguments of each tool with their types, limits and defaults.
var specified = map[string]map[string]string{
	"memory_search": {
		"query": "required string, 1..4096 characters",
		"brain": "string",
		"top_k": "integer, 1..100, default 10",
		"scope": "string, one of all, global, project, agent",
		"sort":  "string, one of relevance, recency, relevance_then_recency",
	},
	"memory_recall": {
		"query":      "required string, 1..4096 characters",
		"brain":      "string",
		"scope":      "string, one of global, project, agent",
		"session_id": "string",
		"top_k":      "integer, 1..50",
	},
	"memory_remember": {
		"content": "required string, 1..5000000 characters",
		"title":   "string, 1..512 characters",
		"brain":   "string",
		"tags":    "array, 0..64 entries, each string, 1..64 characters",
		"path":    "string, 1..1024 characters",
	},
	"memory_ingest_file": {
		"path":  "required string, at least 1 character",
		"brain": "string",
		"as":    "string, one of markdown, text, pdf, json",
	},
	"memory_ingest_url": {
		"url":   "required string, a URL",
		"brain": "string",
	},
	"memory_extract": {
		"messages": "required array, 1..500 entries, each object of " +
			"content (required string, at least 1 character), " +
			"role (required string, one of system, user, assistant, tool)",
		"brain":      "string",
		"actor_id":   "string",
		"session_id": "string",
	},
	"memory_reflect": {
		"session_id": "required string, at least 1 character",
		"brain":      "string",
	},
	"memory_consolidate": {"brain": "string"},
	"memory_create_brain": {
		"name":       "required string, 1..128 characters",
		"slug":       "string, 1..64 characters, ^[a-z0-9][a-z0-9-]*$",
		"visibility": "string, one of private, tenant, public, default private",
	},
	"memory_list_brains": {},
	"memory_ask": {
		"query": "required string, 1..8192 characters",
		"brain": "string",
		"top_k": "integer, 1..50",
	},
}

func TestSchemasFollowTheSpecification(t *testing.T) {
	got := map[string]map[string]string{}
	for name, d := range definitions() {
		got[name] = map[string]string{}
		for argument, s := range d.input.Properties {
			got[name][argument] = describe(s, slices.Contains(d.input.Required, argument))
		}
	}
	if diff := cmp.Diff(specified, got); diff != "" {
		t.Error(diff)
	}
}

// describe returns a schema in the words of specified.
func describe(s *schema, required bool) string {
	text := s.Type
	if required {
		text = "required " + text
	}
	switch {
	case s.MinLength != nil && s.MaxLength != nil:
		text += fmt.Sprintf(", %d..%d characters", *s.MinLength, *s.MaxLength)
	case s.MinLength != nil:
		text += fmt.Sprintf(", at least %d character", *s.MinLength)
	case s.Minimum != nil:
		text += fmt.Sprintf(", %v..%v", *s.Minimum, *s.Maximum)
	case s.MaxItems != nil:
		least := 0
		if s.MinItems != nil {
			least = *s.MinItems
		}
		text += fmt.Sprintf(", %d..%d entries, each %s", least, *s.MaxItems, describe(s.Items, false))
	}
	if s.Properties != nil {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", name,
				describe(s.Properties[name], slices.Contains(s.Required, name))))
		}
		text += " of " + strings.Join(parts, ", ")
	}
	if s.Pattern != "" {
		text += ", " + s.Pattern
	}
	if s.Format == "uri" {
		text += ", a URL"
	}
	if s.Enum != nil {
		text += ", one of " + strings.Join(s.Enum, ", ")
	}
	if s.Default != nil {
		text += fmt.Sprintf(", default %v", s.Default)
	}
	return text
}

// cases are values of one argument: one that is accepted, and those that are not with a part of the
// message.
type cases struct {
	good []any
	bad  map[string]any
}

// casesOf derives the values at the limits of a schema, above and below.
func casesOf(name string, s *schema) cases {
	c := cases{bad: map[string]any{name + " must be ": nil}}
	switch s.Type {
	case "string":
		c.bad[name+" must be a string, not a number"] = 5
		switch {
		case s.Enum != nil:
			for _, choice := range s.Enum {
				c.good = append(c.good, choice)
			}
			c.bad[name+` is "other", it must be one of `+s.Enum[0]] = "other"
			c.bad[name+` is "", it must be one of `] = ""
		case s.Format == "uri":
			c.good = []any{"https://example.com/a?b#c"}
			c.bad[name+" is empty"] = ""
			c.bad[name+" is not a valid URL"] = "no url"
		default:
			c.good = []any{"x"}
			if s.MaxLength != nil {
				fill := "é" // counts as one
				if s.Pattern != "" {
					fill = "a"
				}
				c.good = append(c.good, strings.Repeat(fill, *s.MaxLength))
				c.bad[fmt.Sprintf("%s has %d characters, the limit is %d", name, *s.MaxLength+1, *s.MaxLength)] =
					strings.Repeat(fill, *s.MaxLength+1)
			}
			if s.MinLength != nil {
				c.bad[name+" is empty"] = ""
			} else {
				c.good = append(c.good, "")
			}
			if s.Pattern != "" {
				c.bad[name+` is "-a", it must match ^[a-z0-9]`] = "-a"
				c.bad[name+` is "A", it must match ^[a-z0-9]`] = "A"
			}
		}
	case "integer":
		c.good = []any{1, int(*s.Maximum), 2.0}
		c.bad[fmt.Sprintf("%s is 0, it must be 1 to %v", name, *s.Maximum)] = 0
		c.bad[fmt.Sprintf("%s is %v, it must be 1 to %v", name, *s.Maximum+1, *s.Maximum)] = *s.Maximum + 1
		c.bad[name+" is 1.5, it must be a whole number"] = 1.5
		c.bad[name+" must be an integer, not a string"] = "3"
	case "array":
		good, empty := casesOf(name+"[0]", s.Items), []any{}
		entry := good.good[0]
		c.good = []any{slices.Repeat([]any{entry}, *s.MaxItems)}
		c.bad[fmt.Sprintf("%s has %d entries, the limit is %d", name, *s.MaxItems+1, *s.MaxItems)] =
			slices.Repeat([]any{entry}, *s.MaxItems+1)
		if s.MinItems != nil {
			c.bad[name+" has 0 entries, it must have at least 1"] = empty
		} else {
			c.good = append(c.good, empty)
		}
		for says, value := range good.bad {
			c.bad[says] = []any{value}
		}
	case "object":
		whole := map[string]any{}
		for key, property := range s.Properties {
			whole[key] = casesOf(key, property).good[0]
		}
		c.good = []any{whole}
		for _, key := range s.Required {
			part := maps.Clone(whole)
			delete(part, key)
			c.bad[name+"."+key+" is missing"] = part
		}
		for key, property := range s.Properties {
			for says, value := range casesOf(name+"."+key, property).bad {
				part := maps.Clone(whole)
				part[key] = value
				c.bad[says] = part
			}
		}
		more := maps.Clone(whole)
		more["other"] = 1
		c.bad[`there is no argument "other" in `+name+": use "] = more
	}
	return c
}

// strict checks arguments as they are sent.
func strict(t interface{ Fatal(...any) }, data json.RawMessage, s *schema) (arguments, error) {
	value, err := decoded(data)
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any), s.check("", value)
}

// TestLimits gives every argument of every tool the values at its limits, above and below.
func TestLimits(t *testing.T) {
	for tool, d := range definitions() {
		least := map[string]any{}
		for _, name := range d.input.Required {
			least[name] = casesOf(name, d.input.Properties[name]).good[0]
		}
		parse := func(name string, value any) (arguments, error) {
			args := maps.Clone(least)
			args[name] = value
			data, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			return strict(t, data, d.input)
		}
		for name, s := range d.input.Properties {
			c := casesOf(name, s)
			for _, value := range c.good {
				if _, err := parse(name, value); err != nil {
					t.Errorf("%s: %v", tool, err)
				}
			}
			for says, value := range c.bad {
				if _, err := parse(name, value); err == nil || !strings.Contains(err.Error(), "validation_error: "+says) {
					t.Errorf("%s: got %v, want %s", tool, err, says)
				}
			}
		}
		for _, name := range d.input.Required {
			args := maps.Clone(least)
			delete(args, name)
			data, _ := json.Marshal(args)
			if _, err := strict(t, data, d.input); err == nil || !strings.Contains(err.Error(), name+" is missing") {
				t.Errorf("%s without %s: %v", tool, name, err)
			}
		}
		if _, err := parse("other", 1); err == nil || !strings.Contains(err.Error(), `there is no argument "other": use `) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestParseArguments(t *testing.T) {
	input := definitions()["memory_search"].input
	for data, says := range map[string]string{
		`{`:           "not valid JSON",
		`[1]`:         "must be an object, not an array",
		`"x"`:         "must be an object, not a string",
		`{} {}`:       "more than one JSON value",
		`{"query":1}`: "query must be a string, not a number",
	} {
		if _, _, err := parseArguments(json.RawMessage(data), input); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", data, err)
		}
	}
	args, _, err := parseArguments(json.RawMessage(`{"query":"tea"}`), input)
	if err != nil || args.text("query") != "tea" || args.number("top_k") != 10 || args.text("scope") != "" {
		t.Errorf("got %v, %v", args, err)
	}
	args, _, err = parseArguments(json.RawMessage(`{"query":"tea","top_k":7.0}`), input)
	if err != nil || args.number("top_k") != 7 {
		t.Errorf("got %v, %v", args, err)
	}
	for _, none := range []string{"", "null", "{}"} {
		if args, _, err := parseArguments(json.RawMessage(none), definitions()["memory_list_brains"].input); err != nil || args == nil {
			t.Errorf("%q: %v, %v", none, args, err)
		}
	}
	if args, _, err := parseArguments(json.RawMessage(`{"name":"x"}`), definitions()["memory_create_brain"].input); err != nil || args.text("visibility") != "private" {
		t.Errorf("got %v, %v", args, err)
	}
}

// TestArgumentsAsJSONSchema compares the checks with an implementation of JSON Schema.
func TestArgumentsAsJSONSchema(t *testing.T) {
	resolved := map[string]*jsonschema.Resolved{}
	for name, d := range definitions() {
		var s jsonschema.Schema
		if err := json.Unmarshal(d.tool.InputSchema.(json.RawMessage), &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		resolved[name] = r
	}
	names := slices.Sorted(maps.Keys(definitions()))
	scalar := rapid.OneOf(
		rapid.Just[any]("x"), rapid.Just[any](""), rapid.Just[any]("user"), rapid.Just[any]("all"),
		rapid.Just[any]("https://a.b/"), rapid.Just[any](nil), rapid.Just[any](true),
		rapid.Map(rapid.IntRange(-1, 120), func(n int) any { return n }),
		rapid.Map(rapid.Float64Range(0, 4), func(f float64) any { return f }),
		rapid.Map(rapid.IntRange(0, 600), func(n int) any { return strings.Repeat("é", n) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom(names).Draw(t, "tool")
		input := definitions()[tool].input
		args := map[string]any{}
		for name, s := range input.Properties {
			if rapid.IntRange(0, 3).Draw(t, "leave out "+name) == 0 {
				continue
			}
			value := scalar.Draw(t, name)
			if s.Type == "array" && rapid.Bool().Draw(t, name+" is a list") {
				var list []any
				for range rapid.IntRange(0, 70).Draw(t, name+" length") {
					if s.Items.Type == "object" {
						list = append(list, map[string]any{
							"role": scalar.Draw(t, "role"), "content": scalar.Draw(t, "content"),
						})
					} else {
						list = append(list, scalar.Draw(t, "entry"))
					}
				}
				value = list
			}
			if s.Format == "uri" {
				value = "https://example.com/" // the other implementation does not check formats
			}
			args[name] = value
		}
		if rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
			args["unknown"] = 1
		}
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		var instance map[string]any
		if err := json.Unmarshal(data, &instance); err != nil {
			t.Fatal(err)
		}
		_, ours := strict(t, data, input)
		theirs := resolved[tool].Validate(instance)
		if (ours == nil) != (theirs == nil) {
			t.Fatalf("%s %s: ours says %v, theirs %v", tool, data, ours, theirs)
		}
	})
}

// TestUnsupportedSchemas loads definitions that this package would not check completely.
func TestUnsupportedSchemas(t *testing.T) {
	file := func(schema string) string {
		return `{"name":"t","description":"d","inputSchema":` + schema + `}`
	}
	for text, says := range map[string]string{
		file(`{"type":"object","additionalProperties":false,"minProperties":1}`):                                    "unknown field",
		file(`{"type":"object","properties":{}}`):                                                                   "additionalProperties",
		file(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"number"}}}`):                 `type "number" is not supported`,
		file(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array"}}}`):                  "has no items",
		file(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","format":"date"}}}`): `format "date"`,
		file(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","pattern":"("}}}`):   "missing closing",
		strings.Replace(file(`{"type":"object","additionalProperties":false}`), `"t"`, `"u"`, 1):                    `defines the tool "u"`,
	} {
		_, err := load(fstest.MapFS{"schemas/t.json": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEveryToolIsImplemented(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(tools)), slices.Sorted(maps.Keys(definitions())); !slices.Equal(got, want) {
		t.Errorf("implemented are %s, defined are %s", got, want)
	}
}

// TestDocs compares the table of the tools in docs/mcp.md with the definitions, or writes it with
// -update.
func TestDocs(t *testing.T) {
	docs := filepath.FromSlash("../../docs/mcp.md")
	data, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- tools: begin -->\n", "<!-- tools: end -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no markers for the tools", docs)
	}
	goldentest.Compare(t, docs, before+begin+toolTable()+end+after)
}

// toolTable lists the tools in the order of their names, with their arguments, the required ones
// first and in bold.
func toolTable() string {
	var b strings.Builder
	b.WriteString("| tool | arguments | what it does |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(definitions())) {
		d := definitions()[name]
		var required, optional []string
		for _, argument := range slices.Sorted(maps.Keys(d.input.Properties)) {
			if slices.Contains(d.input.Required, argument) {
				required = append(required, "**"+cell(argument)+"**")
			} else {
				optional = append(optional, cell(argument))
			}
		}
		arguments := strings.Join(append(required, optional...), ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, arguments, cell(d.tool.Description))
	}
	return b.String()
}

// cell escapes text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "_", `\_`, "*", `\*`, "<", "&lt;", "[", `\[`).Replace(s)
}
