package main

import (
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/wording"
)

func TestParseFloor(t *testing.T) {
	for _, c := range []struct {
		text  string
		given bool
		floor float64
		from  result.FloorFrom
		says  string
	}{
		{"none", false, 0, result.FloorNone, "no floor"},
		{"none", true, 0, result.FloorNone, "no floor"},
		{"0.90", false, 0.9, result.FloorDefault, "floor 0.9, the default"},
		{"0.90", true, 0.9, result.FloorGiven, "floor 0.9"},
		{"0", true, 0, result.FloorGiven, "floor 0"},
	} {
		floor, from, err := parseFloor(c.text, c.given)
		if err != nil || floor != c.floor || from != c.from || wording.FloorName(from, floor) != c.says {
			t.Errorf("%s, given %v: got %v from %q (%s), %v", c.text, c.given, floor, from, wording.FloorName(from, floor), err)
		}
	}
	if _, _, err := parseFloor("1.1", true); err == nil || !strings.HasSuffix(err.Error(), ", or none") {
		t.Errorf("got %v", err)
	}
}
