package scorer

import "testing"

// TestDocumentForms checks that the normal form of a path does not decide what is cited, and that
// case and slashes do.
func TestDocumentForms(t *testing.T) {
	const composed, decomposed = "notes/caf\u00e9.md", "notes/cafe\u0301.md"
	for _, c := range []struct {
		name, want string
		exact, is  bool
	}{
		{composed, decomposed, true, true},
		{"srv/raw/documents/" + decomposed, composed, false, true},
		{"srv/" + decomposed, composed, true, false},
		{"notes/Caf\u00e9.md", composed, false, false},
		{`notes\cafe.md`, "notes/cafe.md", false, false},
	} {
		if got := (Document{Names: []string{c.name}, Exact: c.exact}).is(c.want); got != c.is {
			t.Errorf("%+q is %+q: %v, want %v", c.name, c.want, got, c.is)
		}
	}
}
