package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {" abc ", 3, "abc"}, {"abcd", 3, "ab…"}, {"a\nbc", 3, "a…"}, {"\x1b[2J", 6, `\u001…`},
	} {
		if got := Short(tt.text, tt.n); got != tt.want {
			t.Errorf("Short(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	const label = "  floor       "
	long := strings.Repeat("x", 90)
	for _, tt := range []struct{ text, want string }{
		{"short", "short"},
		{long[:60] + "  " + long[:4], long[:60] + "  " + long[:4]},
		{long[:60] + "  " + long[:5] + " y", long[:60] + "\n              " + long[:5] + " y"},
		{long[:60] + "  aa bb  " + long[:70], long[:60] + "\n              aa bb\n              " + long[:70]},
		{"a  " + red + long[:63] + reset, "a  " + red + long[:63] + reset},
		{long[:60] + " " + long[:4] + " y", long[:60] + " " + long[:4] + "\n              y"},
		{long + " y", long + "\n              y"},
		{"aa  " + long[:64] + " y", "aa\n              " + long[:64] + " y"},
		{"a   b", "a   b"},
		{long[:60] + "   " + long[:4], long[:60] + "\n              " + long[:4]},
		{strings.Repeat("漢", 30) + " " + strings.Repeat("字", 3), strings.Repeat("漢", 30) + "\n              " + strings.Repeat("字", 3)},
		{"é " + long[:64], "é " + long[:64]}, // 80 characters, 81 bytes
	} {
		live := &Terminal{w: &bytes.Buffer{}, live: true}
		if got := live.Wrap(label, tt.text); got != label+tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
		if got := new(Terminal).Wrap(label, tt.text); got != label+tt.text {
			t.Errorf("wrapped without a terminal: %q", got)
		}
	}
}

// A text must not be a command where the log of a job is read for commands.
func TestLogCommands(t *testing.T) {
	for text, want := range map[string]string{
		"::error file=x::y":            `\u003a:error file=x::y`,
		" \t\u3000::add-mask::y":       `  ` + "\u3000" + `\u003a:add-mask::y`,
		"a ##[error]b ##vso[task.x]c":  `a \u0023#[error]b \u0023#vso[task.x]c`,
		"##teamcity[blockOpened n='x'": `\u0023#teamcity[blockOpened n='x'`,
		"a ::error::b":                 "a ::error::b",
		"::1":                          "::1",
		"## A heading [1]":             "## A heading [1]",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\n::warning::b\n  ::c"), "a\n"+`\u003a:warning::b`+"\n"+`  \u003a:c`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
