package source

import (
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
)

const (
	persona2Header = "persona_id,chat_history_32k_link,chat_history_128k_link,user_query,correct_answer,incorrect_answers,pref_type\n"
	persona2Rows   = `7,data/chat_history_32k/p7.json,data/chat_history_128k/p7.json,"{'role': 'user', 'content': ""Where's a good walk?""}",The hills.,"[""The sea."", 'The city.']",neutral_preferences
7,data/chat_history_32k/p7.json,data/chat_history_128k/p7.json,"{""role"": ""user"", ""content"": ""What now?""}",Tea.,"[""Milk.""]",
`
)

// persona2 writes a data set of the second PersonaMem and returns the path of its table.
func persona2(t *testing.T, table, history string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"benchmark/text/benchmark.csv": table, "data/chat_history_32k/p7.json": history} {
		filetest.Write(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	return filepath.Join(root, "benchmark", "text", "benchmark.csv")
}

const persona2History = `{"metadata": {"persona_id": 7}, "chat_history": [{"role": "system", "content": "Begin."}, {"role": "user", "content": "I like hills."}]}`

// TestPersonaMem2 reads options whose right one is known, about the whole history of a persona.
func TestPersonaMem2(t *testing.T) {
	path := persona2(t, persona2Header+persona2Rows, persona2History)
	b := open(t, path, Options{})
	if b.Format != dataset.PersonaMem || len(b.Questions) != 2 || len(b.Infos()) != 1 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	q := b.Questions[0]
	letter := q.Checks[0].Choice
	if !strings.HasPrefix(q.Text, "Where's a good walk?") || !strings.Contains(q.Text, "\n("+letter+") The hills.") || strings.Count(q.Text, "\n(") != 3 || q.Type != "neutral_preferences" {
		t.Errorf("%+v", q)
	}
	if got := open(t, path, Options{OptionSeed: 4}).Questions[0].Checks[0].Choice + open(t, path, Options{FileOrder: true}).Questions[0].Checks[0].Choice; !strings.HasSuffix(got, "a") {
		t.Errorf("the letters are %s", got)
	}
	if q := b.Questions[1]; q.Type != noType || !strings.HasPrefix(q.Text, "What now?") {
		t.Errorf("%+v", q)
	}
	if text := haystack(t, b, q.Haystack).Sessions[0].Text(); !strings.Contains(text, "user: I like hills.") {
		t.Errorf("%s", text)
	}
}

// TestPersonaMem2Refused has tables that lack something.
func TestPersonaMem2Refused(t *testing.T) {
	for _, c := range []struct{ from, to, history, want string }{
		{"incorrect_answers", "other", persona2History, "the table has no column incorrect_answers"},
		{"data/chat_history_32k/p7.json", "../../../../etc/hosts", persona2History, "does not lead to a file of the data set"},
		{"data/chat_history_32k/p7.json", "data/none.json", persona2History, "download the histories too"},
		{"'The city.']", "'The city.'", persona2History, "incorrect_answers"},
		{"{'role'", "{role", persona2History, "user_query is not a message"},
		{"", "", `{"chat_history": []}`, "has no messages under chat_history"},
	} {
		table := strings.Replace(persona2Header+persona2Rows, c.from, c.to, 1)
		if _, err := Open(t.Context(), persona2(t, table, c.history), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}
