package page

import (
	"encoding/base64"
	"encoding/json"
	"html/template"

	"evalctl/harness/result"
)

// filesLimit limits a file embedded in a page, in bytes.
const filesLimit = 256 << 10

// file is a file embedded in the page.
type file struct {
	Name, Text string
	URL        template.URL
}

// runFiles returns the figures as JSON and the verdicts as JSON Lines, which evalctl compare reads.
// Files that are too large are omitted.
func runFiles(c Content) []file {
	var out []file
	add := func(kind, what string, data []byte) {
		if len(data) <= filesLimit {
			base := name(c.Result.SDK)
			out = append(out, file{Name: base + kind, Text: what, URL: dataURL(data)})
		}
	}
	if head, err := json.MarshalIndent(c.Result, "", "  "); err == nil {
		add(".figures.json", "Save the figures (JSON, without questions)", head)
	}
	if c.Result.Identity.Dataset.Repeats > 1 {
		return out // JSON Lines has each question once
	}
	var lines []byte
	for i := range c.Questions {
		q := &c.Questions[i]
		if !q.Outcome.Counts() || q.Outcome == result.Unscored {
			continue // a line would say that it failed
		}
		line, err := json.Marshal(verdictLine{q.ID, q.Passed, q.Score, q.Took(), q.Tags})
		if err != nil {
			return out
		}
		if lines = append(append(lines, line...), '\n'); len(lines) > filesLimit {
			return out
		}
	}
	add(".verdicts.jsonl", "Save the verdicts (JSON Lines, a line for each question that has one)", lines)
	return out
}

type verdictLine struct {
	ID        string   `json:"id"`
	Passed    bool     `json:"passed"`
	Score     *float64 `json:"score"`
	LatencyMS *float64 `json:"latency_ms,omitempty"`
	Tags      []string `json:"tags,omitempty"`
}

// dataURL returns a URL that contains data. It is safe: browsers save the data and do not show it.
func dataURL(data []byte) template.URL {
	return template.URL("data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(data))
}
