package wording

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// DaemonEnv lists the passed and withheld variables in one line, "" for none.
func DaemonEnv(e *result.DaemonEnv) string {
	if e == nil {
		return ""
	}
	var parts []string
	paying := e.Paying()
	if len(paying) > 0 {
		parts = append(parts, "passed on "+strings.Join(paying, ", ")+" (no cap limits what the daemon pays with it)")
	}
	others := slices.DeleteFunc(slices.Clone(e.Passed), func(name string) bool { return slices.Contains(paying, name) })
	if len(others) > 0 {
		parts = append(parts, "passed on "+strings.Join(others, ", "))
	}
	if len(e.Withheld) > 0 {
		parts = append(parts, "withheld "+strings.Join(e.Withheld, ", "))
	}
	if e.HomeOfUser {
		parts = append(parts, "it had the home of the user, and may have found and left texts there")
	}
	return strings.Join(parts, "; ")
}

// ScoredBy formats the scorer.
func ScoredBy(id result.Identity) string {
	if e := id.External; e != nil {
		return fmt.Sprintf("%s %s %s", id.Scorer, e.Name, e.Version)
	}
	if id.ExactCase != nil && *id.ExactCase {
		return id.Scorer + ", with case"
	}
	return id.Scorer
}

// ContextName names the context of the model: "the whole context", or "the last 128k tokens".
func ContextName(c *result.ContextUse) string {
	if c == nil || c.LeftOut == 0 {
		return "the whole context"
	}
	return fmt.Sprintf("the last %s tokens", thousands(c.Tokens))
}

// Context describes the omitted sessions.
func Context(c *result.ContextUse) string {
	if c.LeftOut == 0 {
		return fmt.Sprintf("the whole context: all %s fit", figure.Count(c.Sessions, "session"))
	}
	return fmt.Sprintf("%s: %d of %s left out, of %s", ContextName(c), c.LeftOut, figure.Count(c.Sessions, "session"), figure.Count(c.Cut, "question"))
}

func thousands(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// Selection describes the selection, such as "12 of 50 questions (tags temporal)". It is empty if
// all questions are asked in file order. It may quote the dataset.
func Selection(d result.DatasetID) string {
	if d.Selection == nil {
		return ""
	}
	return fmt.Sprintf("%d of %s (%s)", d.Questions(), figure.Count(d.Selection.Total, "question"), d.Selection)
}
