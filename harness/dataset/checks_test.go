package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
	"evalctl/scorer"
)

func TestChecksOfAQuestion(t *testing.T) {
	q, err := parseQuestion([]byte(`{"id":"q","question":"?","checks":[{"contains":"green"},{"not_contains":"red"},`+
		`{"regex":"(?i)\\bkettle\\b","name":"subject"},{"cites":"notes/a.md","weight":2},{"before":"2025-03-14"},`+
		`{"judge":"names the colour"},{"max_latency_ms":2.5e3}]}`), questionKeys())
	want := []scorer.Check{
		{Contains: "green"}, {NotContains: "red"}, {Regex: `(?i)\bkettle\b`, Name: "subject"},
		{Cites: "notes/a.md", Weight: 2}, {Before: "2025-03-14"}, {Judge: "names the colour"}, {MaxLatencyMS: 2500},
	}
	if err != nil || !cmp.Equal(q.Checks, want) || !cmp.Equal(q.Item().Checks, want) {
		t.Error(err, cmp.Diff(want, q.Checks))
	}
}

func TestBadChecks(t *testing.T) {
	for checks, want := range map[string]string{
		`{}`:                                  `field "checks" must be an array`,
		`[7]`:                                 `checks[0]: a check is an object such as {"contains": "green"}, not a number`,
		`[{"contains":"a"},{}]`:               "checks[1]: a check has exactly one of contains, not_contains, regex,",
		`[{"weight":1}]`:                      "not 0 of them",
		`[{"contains":"a","regex":"b"}]`:      "not 2 of them",
		`[{"contains":"a","contains":"b"}]`:   `"contains" is given twice`,
		`[{"contains":7}]`:                    `"contains" must be a string, not a number`,
		`[{"contains":" \t"}]`:                `"contains" is blank`,
		`[{"contains":"\u200b"}]`:             `"contains": it is blank`,
		`[{"not_contains":"\u00ad \u2060"}]`:  `"not_contains": it is blank`,
		`[{"contain":"a"}]`:                   `did you mean "contains"?`,
		`[{"notContains":"a"}]`:               `did you mean "not_contains"?`,
		`[{"vibes":"a"}]`:                     `unknown kind of check "vibes": it must be one of contains,`,
		`[{"regex":"a("}]`:                    `checks[0]: "regex": error parsing regexp: missing closing )`,
		`[{"regex":"(?=a)"}]`:                 "no look-around",
		`[{"before":"March"}]`:                `"before": "March" is not a day (2025-03-14)`,
		`[{"before":"2025-03-14T00:00:00Z"}]`: "is not a day",
		`[{"max_latency_ms":"1"}]`:            `"max_latency_ms" must be a number above 0`,
		`[{"max_latency_ms":-1}]`:             "must be a number above 0",
		`[{"contains":"a","weight":0}]`:       `"weight" must be a number above 0`,
		`[{"contains":"a","weight":1e999}]`:   `"weight" must be a number above 0`,
		`[{"contains":"a","name":"judge"}]`:   "is a kind of checks",
		`[{"contains":"a","name":"` + strings.Repeat("n", 101) + `"}]`: "longer than 100 characters",
	} {
		_, err := parseQuestion([]byte(`{"id":"q","question":"?","checks":`+checks+`}`), questionKeys())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `question "q": `) {
			t.Errorf("%s: %v", checks, err)
		}
	}
}

// The error of a bad check names file and line before anything else is done.
func TestBadCheckHasItsLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	lines := "{\"id\":\"a\",\"question\":\"?\"}\n\n{\"id\":\"b\",\"question\":\"?\",\"checks\":[{\"regex\":\"[\"}]}\n"
	filetest.Write(t, path, lines)
	_, err := Open(path, Options{Naming: BrainNaming{Default: "b"}})
	if err == nil || !strings.HasPrefix(err.Error(), path+`:3: question "b": checks[0]: "regex": `) {
		t.Error(err)
	}
}

// Checks are converted as they are, in YAML with days as text; a table has them as JSON.
func TestConvertChecks(t *testing.T) {
	const want = `[{"before":"2025-03-14"},{"max_latency_ms":900,"weight":1.5},{"contains":"7"}]`
	for format, data := range map[Format]string{
		YAML: "- id: a\n  question: q\n  checks:\n    - before: 2025-03-14\n    - {max_latency_ms: 900, weight: 1.5}\n" +
			"    - contains: \"7\"\n",
		CSV:       "id,question,checks\na,q,\"" + strings.ReplaceAll(want, `"`, `""`) + "\"\n",
		JSONArray: `[{"id":"a","question":"q","assertions":` + want + `}]`,
	} {
		out, err := Convert("f", []byte(data), format)
		if err != nil || string(out.Lines) != `{"id": "a", "question": "q", "checks": `+want+"}\n" {
			t.Errorf("%s: %s %v", format, out.Lines, err)
		}
	}
	for _, bad := range []string{"green", "[{\"contains\": 7}]", "7"} {
		data := "id,question,checks\na,q,\"" + strings.ReplaceAll(bad, `"`, `""`) + "\"\n"
		if out, err := Convert("f.csv", []byte(data), CSV); err == nil || !strings.HasPrefix(err.Error(), "f.csv:2: ") {
			t.Errorf("%s: %s %v", bad, out.Lines, err)
		}
	}
}
