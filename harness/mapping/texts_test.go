package mapping

import (
	"testing"

	"evalctl/harness/dataset"
)

// TestFrontMatter checks what of a document's front matter is sent.
func TestFrontMatter(t *testing.T) {
	for data, want := range map[string][3]string{ // date, title, text
		"---\ndate: 2024-05-01\n---\n\n# Ada\n\nHi":                      {"2024-05-01", "Ada", "# Ada\n\nHi"},
		"---\r\ndate: 2024-05-01\r\n---\r\nHi":                           {"2024-05-01", "", "Hi"},
		"---\r\ndate: 2024-05-01\r\n---\r\n\r\n# Ada\r\n":                {"2024-05-01", "Ada", "# Ada\r\n"},
		"\ufeff---\ndate: 2024-05-01\n---\nHi":                           {"2024-05-01", "", "Hi"},
		"---\ndate: 2024-05-01\n...\nHi":                                 {"2024-05-01", "", "Hi"},
		"--- \ndate: 2024-05-01\n---\t\nHi":                              {"2024-05-01", "", "Hi"},
		"---\ncreated_at: 2024-05-01\ntitle: 'Ada: a life' # t\n---\nHi": {"2024-05-01", "Ada: a life", "Hi"},
		"---\nmeta:\n  date: 2024-05-01\n  title: x\n---\nHi":            {"", "", "Hi"},
		"---\ndate: 2024-05-01 # draft\n---\nHi":                         {"2024-05-01", "", "Hi"},
		"---\ndate: null\ntitle:\n---\nHi":                               {"", "", "Hi"},
		"---\nA line between rules.\n---\nHi":                            {"", "", "---\nA line between rules.\n---\nHi"},
		"---\n# Ada\nno end":                                             {"", "", "---\n# Ada\nno end"},
		"---\n---\nHi":                                                   {"", "", "Hi"},
		"\ufeff# Ada":                                                    {"", "Ada", "# Ada"},
		"":                                                               {},
	} {
		v := textsOf(dataset.Doc{Path: "a.md", Data: []byte(data)}, 0)[0].values
		date, _ := v["date"].(string)
		title, _ := v["title"].(string)
		text, _ := v["text"].(string)
		if got := [3]string{date, title, text}; got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", data, got, want)
		}
	}
}
