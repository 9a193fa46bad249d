package nightly

import (
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/markdown"
)

// textLength is the number of characters that are shown of a text.
const textLength = 300

func interval(i *result.Interval) string {
	if i == nil {
		return markdown.None
	}
	return markdown.Interval(i.Low, i.High)
}

// exact formats an amount of dollars with all its decimals and without the sign.
func exact(u llm.USD) string { return plain(u.String()) }

// plain returns an amount for a column of dollars.
func plain(amount string) string { return strings.Replace(amount, "$", "", 1) }
