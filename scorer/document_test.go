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

func TestDay(t *testing.T) {
	for date, want := range map[string]string{
		"2024-05-08": "2024-05-08", "2024-05-08T23:30:00-05:00": "2024-05-08", "2024-05-08 13:00:00 +0200": "2024-05-08",
		"2024-5-8 1:00:00.5 Z": "2024-05-08", "2024/05/08 13:00": "2024-05-08", " 20240508\n": "2024-05-08",
		"": "", "2024-13-08": "", "2024-05-08 or 2025-01-01": "", "05/08/2024": "", "May 8, 2024": "", "1715122800": "",
	} {
		if got, ok := Day(date); got != want || ok != (want != "") {
			t.Errorf("%q is the day %q, want %q", date, got, want)
		}
	}
}
