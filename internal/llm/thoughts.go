package llm

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
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

// The marks around a model's thoughts. Case does not matter.
var (
	thoughtsBegin = []string{
		"<think>", "<thinking>", "<thought>", "<thoughts>", "<reasoning>", "[THINK]", "◁think▷", "<|channel|>analysis<|message|>",
	}
	thoughtsEnd = []string{
		"</think>", "</thinking>", "</thought>", "</thoughts>", "</reasoning>", "[/THINK]", "◁/think▷", "<|channel|>final<|message|>",
	}
)

// thoughts match the marks.
var thoughts = sync.OnceValue(func() [2]*regexp.Regexp {
	oneOf := func(marks []string) *regexp.Regexp {
		var quoted []string
		for _, m := range marks {
			quoted = append(quoted, regexp.QuoteMeta(m))
		}
		return regexp.MustCompile("(?i)" + strings.Join(quoted, "|"))
	}
	return [2]*regexp.Regexp{oneOf(thoughtsBegin), oneOf(thoughtsEnd)}
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

// AfterThoughts returns an answer in prose without the thoughts before it, and is empty if they
// do not end. They begin with the answer, or in the prompt: then only their end mark is there.
// Thoughts may quote an end mark, so that all is cut to the last one before a begin mark. Other
// marks behind the thoughts are text, unlike with WithoutThoughts.
func AfterThoughts(text string) string {
	for {
		begin, end := thoughts()[0].FindStringIndex(text), thoughts()[1].FindStringIndex(text)
		first := begin != nil && strings.TrimSpace(text[:begin[0]]) == ""
		switch {
		case end == nil && first:
			return ""
		case end == nil, begin != nil && !first && begin[0] < end[0]:
			return text
		}
		text = strings.TrimLeftFunc(text[end[1]:], unicode.IsSpace)
	}
}

// Speech passes on an answer in prose, as it arrives, without the thoughts that it begins with.
// Thoughts that were begun in the prompt are passed on: only AfterThoughts of the whole leaves
// them out.
type Speech struct {
	held     string
	thinking bool // within thoughts
	thought  bool // after thoughts
	begun    bool // the answer
}

// longestMark is at least the length of any mark.
const longestMark = len("<|channel|>analysis<|message|>")

// Next returns what can be passed on after the next piece, which may be nothing.
func (s *Speech) Next(piece string) string {
	if s.begun {
		return piece
	}
	s.held += piece
	for {
		if s.thinking {
			end := thoughts()[1].FindStringIndex(s.held)
			if end == nil {
				s.held = s.held[max(0, len(s.held)-longestMark):]
				return ""
			}
			s.held, s.thinking, s.thought = s.held[end[1]:], false, true
		}
		if s.thought {
			s.held = strings.TrimLeftFunc(s.held, unicode.IsSpace)
		}
		start := strings.ToLower(strings.TrimSpace(s.held))
		begins := func(mark string) bool { return strings.HasPrefix(start, strings.ToLower(mark)) }
		mayBegin := func(mark string) bool { return strings.HasPrefix(strings.ToLower(mark), start) }
		if s.thinking = slices.ContainsFunc(thoughtsBegin, begins); s.thinking {
			continue
		}
		if slices.ContainsFunc(thoughtsBegin, mayBegin) {
			return ""
		}
		s.begun = true
		return s.held
	}
}

// Rest returns what Next has held back and can be passed on at the end of the answer.
func (s *Speech) Rest() string {
	if s.begun || s.thinking {
		return ""
	}
	return s.held
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
