package protocol

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Transcript returns messages as the body of a Markdown document, which ParseTranscript reads. Each
// message is a line with its role and name, and its content as a block quote. Every line of a
// content has a mark, so that no content can look like a turn, a heading, a fence or front matter.
// A carriage return becomes a line feed, and a name one line. Other fields are left out.
// Transcripts can be concatenated.
func Transcript(messages ...SessionMessage) string {
	var b strings.Builder
	for _, m := range messages {
		writeTurn(&b, m)
	}
	return b.String()
}

func writeTurn(b *strings.Builder, m SessionMessage) {
	b.WriteString("\n**" + m.Role + "**")
	if name := escapeName(m.Name); name != "" {
		b.WriteString(" (" + name + ")")
	}
	b.WriteString(":\n")
	// A carriage return ends a line in Markdown.
	content := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(m.Content)
	for line := range strings.SplitSeq(content, "\n") {
		b.WriteByte('>')
		if line != "" {
			b.WriteString(" " + line)
		}
		b.WriteByte('\n')
	}
}

// nameSpecials are the characters by which a name could be mistaken for Markdown or HTML.
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

func isSpaceOrControl(r rune) bool {
	return r == ' ' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// Roles are the roles of a SessionMessage. They may not be modified.
var Roles = []string{RoleSystem, RoleUser, RoleAssistant, RoleTool}

var (
	turnLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\*\*(\w+)\*\*(?: \((.*)\))?:$`)
	})
	nameEscapes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\\\\([" + regexp.QuoteMeta(nameSpecials) + "])")
	})
)

// ParseTranscript returns the messages of a text in the form of Transcript, with role, name and
// content. It reports false for a text that has anything else.
func ParseTranscript(text string) ([]SessionMessage, bool) {
	var messages []SessionMessage
	quoting := false // the last line belongs to the last message
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		turn := turnLine().FindStringSubmatch(line)
		switch {
		case turn != nil && slices.Contains(Roles, turn[1]):
			name := nameEscapes().ReplaceAllString(turn[2], "$1")
			messages, quoting = append(messages, SessionMessage{Role: turn[1], Name: name}), false
		case strings.HasPrefix(line, ">") && len(messages) > 0:
			last := &messages[len(messages)-1]
			if quoting {
				last.Content += "\n"
			}
			last.Content += strings.TrimPrefix(strings.TrimPrefix(line, ">"), " ")
			quoting = true
		case strings.TrimSpace(line) != "":
			return nil, false
		}
	}
	return messages, len(messages) > 0
}
