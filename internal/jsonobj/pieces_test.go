package jsonobj

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"halves", []string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		{"upper case digits", []string{`"\uD83D"`, `"\uDE00"`}, "😀"},
		{"an empty string between", []string{`"\ud83d"`, `""`, `"\ude00"`}, "😀"},
		{"a first half alone", []string{`"\ud83d"`, `"x"`}, "�x"},
		{"a first half at the end", []string{`"x\ud83d"`}, "x�"},
		{"two first halves", []string{`"\ud83d\ud83d"`, `"\ude00"`}, "�😀"},
		{"a second half alone", []string{`"x"`, `"\ude00"`}, "x�"},
		{"a backslash before a u", []string{`"\\ud83d"`, `"\ude00"`}, `\ud83d�`},
		{"a backslash before a half", []string{`"\\\ud83d"`, `"\ude00"`}, `\😀`},
		{"bytes", []string{"\"\xf0\x9f\"", "\"\x98\"", "\"\x80\""}, "😀"},
		{"bytes without an end", []string{"\"\xf0\x9f\"", `"x"`}, "�x"},
		{"another escape", []string{`"\u00e9"`, `"\n"`}, "é\n"},
		{"no string", []string{`null`, `3`, `"x"`}, "x"},
	} {
		var p Pieces
		got := ""
		for _, piece := range c.pieces {
			got += p.Next(json.RawMessage(piece))
		}
		if got += p.Rest(); got != c.want && (c.name != "bytes without an end" || got != "��x") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPiecesAnywhere cuts a text anywhere but within an escape.
func TestPiecesAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOf(rapid.SampledFrom([]string{
			"a", `\\`, `\"`, `\ud83d`, `\ude00`, `\u00e9`, "é", "😀", "\xf0", "\x9f\x98\x80",
		})).Draw(t, "units")
		var p Pieces
		whole, got, piece := "", "", ""
		for _, u := range units {
			whole += u
			if piece += u; rapid.Bool().Draw(t, "cut") {
				got += p.Next(json.RawMessage(`"` + piece + `"`))
				piece = ""
			}
		}
		got += p.Next(json.RawMessage(`"`+piece+`"`)) + p.Rest()
		if want, _ := String(json.RawMessage(`"` + whole + `"`)); got != want {
			t.Errorf("%q is %q in pieces, and %q as a whole", whole, got, want)
		}
	})
}
