package jsonobj

import (
	"math"
	"testing"
)

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]any{"a": "<b> & \u2028", "n": 1})
	if want := `{"a":"<b> & \u2028","n":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := Marshal(math.NaN()); err == nil {
		t.Error("NaN: no error")
	}
	if got := Quote("<\n>"); string(got) != `"<\n>"` {
		t.Errorf("got %s", got)
	}
}
