package target

import "testing"

func TestWithoutOperators(t *testing.T) {
	for text, want := range map[string]string{
		"plain words, e-mail and well-known": "plain words, e-mail and well-known",
		`a "red car" -blue −green --x auto*`: "a red car blue green x auto",
		"“smart” * -":                        "smart",
	} {
		if got := withoutOperators(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
