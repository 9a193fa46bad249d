package download

import (
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	for _, address := range []string{
		"https://x.org", "https://x.org/", "https://x.org/..", "https://x.org/.bashrc", "https://x.org/a%2Fb",
		"https://x.org/a b", "https://x.org/-rf", "https://x.org/a%00",
		"https://x.org/" + strings.Repeat("a", 201), "https://x.org/a\x1b[2J", "https://x.org/%5C..%5Cx",
	} {
		if name, err := FileName(address); err == nil && name != "b" {
			t.Errorf("%q: %q", address, name)
		}
	}
	if name, err := FileName("https://x.org/a/b.json?c=d.txt#e"); name != "b.json" || err != nil {
		t.Error(name, err)
	}
}
