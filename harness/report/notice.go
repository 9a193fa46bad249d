package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/markdown"
	"evalctl/internal/printable"
	"evalctl/internal/terminal"
)

// noticeVersion is the version of docs/notice.schema.json. A key may be added without a new one.
const noticeVersion = 1

// notice says to a chat or a service how a command ended. It has no text of a question or an
// answer.
type notice struct {
	Version int    `json:"version"`
	Text    string `json:"text"`
	// OK is set if the command ends with exit code 0.
	OK      bool         `json:"ok"`
	Results []noticedArm `json:"results"`
	// Next is the command line that shows more, empty without a result.
	Next string `json:"next"`
}

// noticedArm is a target with its result. Without a result, or a value in it, a key is null or
// empty.
type noticedArm struct {
	Target     string           `json:"target"`
	Verdict    string           `json:"verdict"`
	Reason     result.Reason    `json:"reason"`
	Sentence   string           `json:"sentence"`
	Problem    string           `json:"problem"`
	Dataset    string           `json:"dataset"`
	Scenario   result.Scenario  `json:"scenario"`
	PassRate   *float64         `json:"pass_rate"`
	Interval   *result.Interval `json:"pass_rate_interval"`
	Counts     result.Counts    `json:"counts"`
	Planned    int              `json:"planned"`
	CostUSD    *llm.USD         `json:"cost_usd"`
	StartedAt  *time.Time       `json:"started_at"`
	FinishedAt *time.Time       `json:"finished_at"`
	Result     string           `json:"result"`
}

// Notice returns the message about a result for a webhook, nil for a document without results.
// failed is the error with which the command ends.
func Notice(d Document, failed error) []byte {
	arms := armsOf(d)
	if arms == nil {
		return nil
	}
	n := notice{Version: noticeVersion, OK: failed == nil, Results: []noticedArm{}}
	var lines, paths []string
	for i := range arms {
		n.Results = append(n.Results, arms[i].noticed())
		lines = append(lines, arms[i].noticeText(&n.Results[i]))
		if arms[i].Run != nil {
			paths = append(paths, arms[i].Run.Path)
		}
	}
	switch len(paths) {
	case 0:
	case 1:
		n.Next = terminal.CommandLine("evalctl", "show", paths[0])
	default:
		n.Next = comparing(paths...)
	}
	if n.Next != "" {
		lines = append(lines, "Next: "+asCode(n.Next, partLength))
	}
	n.Text = strings.Join(lines, "\n")
	data, err := json.Marshal(n)
	if err != nil {
		panic(err) // all of it can be encoded
	}
	return data
}

// noticed returns the facts of an arm.
func (a *Arm) noticed() noticedArm {
	out := noticedArm{Target: a.Name, Verdict: noResult, Problem: printable.Line(a.Problem, messageLength)}
	if a.Run == nil {
		out.Problem = cmp.Or(out.Problem, "it was not measured")
		return out
	}
	res := &a.Run.Result
	out.Dataset, out.Scenario, out.Counts, out.Planned, out.Result = DatasetName(&res.Identity), res.Identity.Scenario, res.Counts, res.Planned, a.Run.Path
	out.StartedAt, out.FinishedAt = &res.StartedAt, &res.FinishedAt
	if g := res.Gate; g != nil {
		out.Verdict, out.Reason, out.Sentence = string(g.Word()), g.Reason, printable.Line(g.Sentence, messageLength)
	}
	if a.Run.scored() {
		out.PassRate, out.Interval = res.PassRate, res.Believed()
	}
	if spent, unknown := res.Spent(); !unknown {
		out.CostUSD = &spent
	}
	return out
}

// noticeText returns a line about an arm for Slack and Mattermost.
func (a *Arm) noticeText(n *noticedArm) string {
	text := asCode(a.Name, messageLength)
	if n.Dataset != "" {
		text += " on " + asCode(n.Dataset, messageLength)
	}
	text += ": " + strings.ReplaceAll(n.Verdict, "_", " ")
	if n.PassRate != nil {
		text += fmt.Sprintf(", %d of %d passed (%s", n.Counts.Passed, n.Counts.Total, figure.Rate(n.PassRate))
		if n.Interval != nil {
			text += fmt.Sprintf(", 95%% interval %.3f–%.3f", n.Interval.Low, n.Interval.High)
		}
		text += ")"
	}
	if a.Run != nil {
		text += ", cost " + wording.Amount(&a.Run.Result)
	}
	for _, more := range []string{n.Sentence, n.Problem} {
		if more != "" {
			text += "; " + asCode(more, messageLength)
		}
	}
	return text
}

// asCode returns text of others as code, in which a chat finds no mention and no link. Slack reads
// the three characters of its own mark-up as entities everywhere.
func asCode(text string, most int) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(markdown.Span(strings.ReplaceAll(text, "`", "'"), most))
}
