package mapping

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/daemon/mcpclient"
)

// TestSchemas reads one argument in the forms that JSON Schema has for it.
func TestSchemas(t *testing.T) {
	text, texts := schema{Type: types{"string"}}, schema{Type: types{"array"}, Items: &schema{Type: types{"string"}}}
	note := schema{Type: types{"object"}, Properties: map[string]schema{"key": text}, Required: []string{"key"}}
	for property, want := range map[string]schema{
		`{"type":"string"}`:                                           text,
		`{"type":["string","null"]}`:                                  text,
		`{"type":["null","string"],"default":null}`:                   text,
		`{"anyOf":[{"type":"null"},{"type":"string"}]}`:               text,
		`{"oneOf":[{"type":"string"},{"type":"integer"}]}`:            text,
		`{"allOf":[{"description":"x"},{"type":"string"}]}`:           text,
		`{"$ref":"#/$defs/text","description":"x"}`:                   text,
		`{"anyOf":[{"$ref":"#/$defs/text"},{"type":"null"}]}`:         text,
		`{"$ref":"#/$defs/again"}`:                                    text,
		`{"$ref":"#/definitions/a~1b"}`:                               text,
		`{}`:                                                          {},
		`true`:                                                        {},
		`{"description":"anything"}`:                                  {},
		`{"$ref":"https://example.com/other.json"}`:                   {},
		`{"$ref":"#/$defs/none"}`:                                     {},
		`{"$ref":"#/$defs/circle"}`:                                   {},
		`{"enum":["a",null,"b"]}`:                                     {Enum: []any{"a", "b"}},
		`{"const":"a"}`:                                               {Enum: []any{"a"}},
		`{"type":["array","null"],"items":{"type":"string"}}`:         texts,
		`{"type":"array","items":{"anyOf":[{"type":"string"}]}}`:      texts,
		`{"items":{"type":"string"}}`:                                 texts,
		`{"type":"array","items":true}`:                               {Type: types{"array"}, Items: &schema{}},
		`{"$ref":"#/$defs/note"}`:                                     note,
		`{"anyOf":[{"$ref":"#/$defs/note"},{"type":"null"}]}`:         note,
		`{"properties":{"key":{"type":"string"}},"required":["key"]}`: note,
		`{"anyOf":[{"$ref":"#/$defs/note"},{"type":"string"}]}`:       text,
	} {
		input := `{"type":"object","properties":{"a":` + property + `},"required":["a"],"$defs":{"text":{"type":"string"},
			"again":{"$ref":"#/$defs/text"},"circle":{"$ref":"#/$defs/circle"},
			"note":{"type":"object","properties":{"key":{"$ref":"#/$defs/text"}},"required":["key"]}},
			"definitions":{"a/b":{"type":"string"}}}`
		s, err := schemaOf(mcpclient.Tool{Name: "find", InputSchema: json.RawMessage(input)})
		if err != nil {
			t.Errorf("%s: %v", property, err)
			continue
		}
		if diff := cmp.Diff(want, s.Properties["a"], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(schema{}, "Default")); diff != "" || len(s.Required) != 1 {
			t.Errorf("%s (-want +got):\n%s", property, diff)
		}
	}
	for input, ok := range map[string]bool{
		`{"type":"object"}`: true, `{"type":["object"]}`: true, `{}`: true, `true`: true, `null`: true, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`: true,
		`{"anyOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`: true, `{"$ref":"#"}`: true,
		`{"type":"string"}`: false, `{"type":"array"}`: false, `{`: false,
	} {
		s, err := schemaOf(mcpclient.Tool{Name: "find", InputSchema: json.RawMessage(input)})
		if (err == nil) != ok || len(s.Required) > 0 {
			t.Errorf("%s: %+v, %v", input, s, err)
		}
	}
}
