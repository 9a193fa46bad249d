package requirements

import (
	"encoding/json"
	"testing"
)

// TestSchemaForms: a schema may say the same in any form that JSON Schema has.
func TestSchemaForms(t *testing.T) {
	for property, ok := range map[string]bool{
		`{"type":"array","maxItems":64,"items":{"type":"string"}}`:                               true,
		`{"type":["array","null"],"maxItems":64,"items":{"type":["null","string"]}}`:             true,
		`{"anyOf":[{"type":"array","maxItems":64,"items":{"type":"string"}},{"type":"null"}]}`:   true,
		`{"description":"x","oneOf":[{"type":"array","maxItems":64,"items":{"type":"string"}}]}`: true,
		`{"$ref":"#/$defs/tags"}`:                                             true,
		`{"allOf":[{"$ref":"#/$defs/tags"}],"description":"x"}`:               true,
		`{"type":"array","maxItems":64,"items":{"$ref":"#/$defs/tag"}}`:       true,
		`{"type":["array","string"],"maxItems":64,"items":{"type":"string"}}`: false,
		`{"type":"array","maxItems":65,"items":{"type":"string"}}`:            false,
		`{"type":"array","items":{"type":"string"}}`:                          false,
		`{"$ref":"#/$defs/circle"}`:                                           false,
		`{"$ref":"https://example.com/tags.json"}`:                            false,
		`true`: false,
		`{}`:   false,
	} {
		var root object
		text := `{"p":` + property + `,"$defs":{"tag":{"type":"string"},"circle":{"$ref":"#/$defs/circle"},
			"tags":{"type":["array","null"],"maxItems":64,"items":{"$ref":"#/$defs/tag"}}}}`
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		want := object{"type": "array", "maxItems": 64.0, "items": object{"type": "string"}}
		if err := hasRules(plain(root["p"], root), want, root); (err == nil) != ok {
			t.Errorf("%s: %v", property, err)
		}
	}
}
