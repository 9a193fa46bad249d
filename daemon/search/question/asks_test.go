package question

import (
	"testing"

	"evalctl/daemon/language"
)

func TestAsks(t *testing.T) {
	english, greek := language.English, language.Parse("el")
	for _, c := range []struct {
		text string
		in   language.Language
		want bool
	}{
		{"Where was the holiday? In Lisbon.", english, true},
		{"In Lisbon.", english, false},
		{"see https://example.org/?page=2", english, false},
		{"Πού ήταν;", greek, true},
		{"in Lisbon; then home", english, false},
		{"どこですか？", language.None, true},
		{"أين كانت؟", language.None, true},
	} {
		if got := Asks(c.text, c.in); got != c.want {
			t.Errorf("%q asks: %t, want %t", c.text, got, c.want)
		}
	}
}
