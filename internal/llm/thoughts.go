package llm

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Unfenced returns a text without the code fence around the whole of it.
func Unfenced(text string) string {
	inside, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inside, ok = strings.CutSuffix(inside, "```")
	_, body, line := strings.Cut(inside, "\n") // after the name of a language
	if !ok || !line || strings.Contains(body, "```") {
		return text
	}
	return strings.TrimSpace(body)
}

// thoughts match the marks around a model's thoughts.
var thoughts = sync.OnceValue(func() [2]*regexp.Regexp {
	return [2]*regexp.Regexp{
		regexp.MustCompile(`(?i)<(?:think|thinking|thought|thoughts|reasoning)>|\[THINK\]|◁think▷|<\|channel\|>analysis<\|message\|>`),
		regexp.MustCompile(`(?i)</(?:think|thinking|thought|thoughts|reasoning)>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>`),
	}
})

// WithoutThoughts returns a reply without the block in which a model thinks. The block ends at the
// last end mark, because the model may quote one before. It begins at the first begin mark or, if
// there is none, with the text: some templates have that mark in the prompt. A block without an end
// extends to the end of the text. If nothing else is left, it returns an error.
func WithoutThoughts(text string) (string, error) {
	begin, end := thoughts()[0], thoughts()[1]
	before, after := text, ""
	if closed := end.FindAllStringIndex(text, -1); len(closed) > 0 {
		last := closed[len(closed)-1]
		before, after = "", text[last[1]:]
		if opened := begin.FindStringIndex(text[:last[0]]); opened != nil {
			before = text[:opened[0]]
		}
	}
	if opened := begin.FindStringIndex(after); opened != nil {
		after = after[:opened[0]]
	}
	if opened := begin.FindStringIndex(before); opened != nil {
		before = before[:opened[0]]
	}
	said := strings.TrimSpace(before + "\n" + after)
	if said == "" && strings.TrimSpace(text) != "" {
		return "", errors.New("it has nothing but thoughts")
	}
	return said, nil
}

// BreakAtThoughts returns a text with a line break in place of each mark around thoughts.
func BreakAtThoughts(text string) string {
	for _, mark := range thoughts() {
		text = mark.ReplaceAllLiteralString(text, "\n")
	}
	return text
}

// Cut reports whether the limit on the output has cut the reply.
func (r *Response) Cut() bool { return IsCut(r.FinishReason) }

// IsCut reports whether the limit on the output has cut a reply with this finish reason.
func IsCut(finishReason string) bool {
	switch finishReason {
	case "length", "max_tokens", "MAX_TOKENS":
		return true
	}
	return false
}
