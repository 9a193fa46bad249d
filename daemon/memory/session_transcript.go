package memory

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"evalctl/daemon/frontmatter"
)

// transcriptHeader returns the front matter of the transcript of a segment. date is when its first
// message was written.
func transcriptHeader(session string, date, now time.Time) (string, error) {
	text, err := frontmatter.Set("", frontmatter.Fields{
		Title: "Session " + session, Date: date, Created: now,
		Metadata: map[string]any{"session_id": session},
	})
	if err != nil {
		return "", fmt.Errorf("session_id %.64q: %w", session, err)
	}
	return text, nil
}

// turnText returns a message as part of a transcript: a line with who speaks, and the content as a
// block quote. Each line of the content has a mark, so that no content can look like a turn, a
// heading, a fence or front matter.
func turnText(role, name, content string) string {
	var b strings.Builder
	b.WriteString("\n**" + role + "**")
	if name != "" {
		b.WriteString(" (" + escapeName(name) + ")")
	}
	b.WriteString(":\n")
	// A carriage return ends a line in Markdown.
	content = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(content)
	for line := range strings.SplitSeq(content, "\n") {
		b.WriteByte('>')
		if line != "" {
			b.WriteString(" " + line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// nameSpecials are what a name could be mistaken for Markdown or HTML by.
const nameSpecials = "\\`*_[]<>#"

// escapeName returns a name as one line of plain text.
func escapeName(name string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.FieldsFunc(name, isSpaceOrControl), " ") {
		if strings.ContainsRune(nameSpecials, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isSpaceOrControl(r rune) bool { return r == ' ' || unprintable(r) }

// turn is one part of a transcript.
type turn struct{ role, name, content string }

var (
	turnLine    = regexp.MustCompile(`^\*\*(system|user|assistant|tool)\*\*(?: \((.*)\))?:$`)
	nameEscapes = regexp.MustCompile("\\\\([" + regexp.QuoteMeta(nameSpecials) + "])")
)

// parseTranscript reads turns in the form of turnText. It reports false for a text that is not made
// of such turns.
func parseTranscript(text string) ([]turn, bool) {
	var turns []turn
	quoting := false // the last line belongs to the last turn
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		found := turnLine.FindStringSubmatch(line)
		switch {
		case found != nil:
			name := nameEscapes.ReplaceAllString(found[2], "$1")
			turns, quoting = append(turns, turn{role: found[1], name: name}), false
		case strings.HasPrefix(line, ">") && len(turns) > 0:
			last := &turns[len(turns)-1]
			if quoting {
				last.content += "\n"
			}
			last.content += strings.TrimPrefix(strings.TrimPrefix(line, ">"), " ")
			quoting = true
		case strings.TrimSpace(line) != "":
			return nil, false
		}
	}
	return turns, len(turns) > 0
}
