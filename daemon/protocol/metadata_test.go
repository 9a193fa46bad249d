package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

// TestMetadataKeepsDigits: a number is decoded to the float64 that has its digits, else kept as
// it is written.
func TestMetadataKeepsDigits(t *testing.T) {
	for text, want := range map[string]any{
		"3": 3.0, "-0.5": -0.5, "1e300": 1e300, "9007199254740992": 9007199254740992.0,
		"602200000000000000000": 6.022e20, "0.1234567890123456789": 0.12345678901234568,
		"9007199254740993": json.Number("9007199254740993"), "-1234567890123456789": json.Number("-1234567890123456789"),
		"1e999": json.Number("1e999"), `"7"`: "7", "null": nil,
	} {
		var got protocol.CreateDocument
		if err := json.Unmarshal([]byte(`{"metadata":{"n":`+text+`}}`), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(protocol.Metadata{"n": want}, got.Metadata); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	var none protocol.CreateDocument
	if err := json.Unmarshal([]byte(`{"metadata":null}`), &none); err != nil || none.Metadata != nil {
		t.Errorf("null: %v, %v", none.Metadata, err)
	}
}
