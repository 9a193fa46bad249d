package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"evalctl/docs"
	"evalctl/harness/result"
)

// noticeOf returns the notice of a document, which has the schema.
func noticeOf(t *testing.T, d Document, failed error) notice {
	t.Helper()
	schema, err := docs.Schemas.ReadFile("notice.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("notice", doc); err != nil {
		t.Fatal(err)
	}
	data := Notice(d, failed)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("notice").Validate(v); err != nil {
		t.Errorf("%v in %s", err, data)
	}
	var n notice
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNotice(t *testing.T) {
	lost := runOf(5)
	for i := range lost.Questions {
		r := &lost.Questions[i]
		r.Score, r.Passed, r.Outcome, r.Reason = nil, false, result.Unscored, "a secret reason"
	}
	lost.fill()
	n := noticeOf(t, Replay{Arms: Arms{{Name: "go", Run: runOf(60)}, {Name: "ts", Run: lost}, {Name: "py", Problem: "the daemon died"}}}, errors.New("failed"))
	if n.OK || len(n.Results) != 3 || n.Results[1].PassRate != nil || n.Results[2].Verdict != noResult || n.Next != "evalctl compare results/2026-09-21/go.json results/2026-09-21/go.json" {
		t.Errorf("%+v", n)
	}
	const want = "`go` on `smoke.jsonl`: pass, 48 of 60 passed (0.800, 95% interval 0.682–0.882), cost $0.0"
	if lines := strings.Split(n.Text, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], want) || lines[2] != "`py`: no result; `the daemon died`" {
		t.Errorf("the text is\n%s", n.Text)
	}
	for _, private := range []string{"What is in box", "A lamp", "secret reason"} {
		if strings.Contains(string(Notice(lost, nil)), private) {
			t.Errorf("the notice has the text %q", private)
		}
	}
	if n := noticeOf(t, runOf(60), nil); !n.OK || n.Next != "evalctl show results/2026-09-21/go.json" {
		t.Errorf("%+v", n)
	}
	if Notice(Conformance{}, nil) != nil {
		t.Error("a report of conformance has a notice")
	}
}

// TestNoticeIsData: names and messages become neither mentions nor links in a chat.
func TestNoticeIsData(t *testing.T) {
	n := noticeOf(t, Arms{{Name: "<!channel>` @all", Problem: "see <https://evil.example|here> & `x`\n@here"}}, errors.New("failed"))
	const want = "`&lt;!channel&gt;' @all`: no result; `see &lt;https://evil.example|here&gt; &amp; 'x' @here`"
	if n.Text != want {
		t.Errorf("got %s, want %s", n.Text, want)
	}
}
