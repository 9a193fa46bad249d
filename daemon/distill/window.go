package distill

import (
	"strings"
	"time"
)

const (
	// maxWindow limits the texts of one request, in bytes. Their number is limited too, because
	// short ones have their share of keys and braces.
	maxWindow   = 8000
	maxMessages = 120
	// maxEarlier limits the messages that are repeated from the window before, in bytes.
	maxEarlier = 1500
	// maxName is how much of a name is read, in bytes.
	maxName = 200
	// maxTool is how much of a tool's result is read, in bytes.
	maxTool = 2000
	// cutMark ends a text whose rest is left out.
	cutMark = " […]"
)

// piece is a message, or a part of a long one, as the model reads it.
type piece struct {
	ID      int    `json:"id"` // index of the message
	Role    string `json:"role"`
	Name    string `json:"name,omitempty"`
	Written string `json:"written,omitempty"` // date, time and weekday
	Text    string `json:"text"`

	at time.Time
}

// window is the content of one request. Earlier are the last messages of the window before, which
// have been distilled already.
type window struct {
	Earlier  []piece `json:"earlier,omitempty"`
	Messages []piece `json:"messages"`
}

// windows divides the messages that are read. A message that is too long for a window becomes
// several pieces, cut at ends of sentences, so that all of it is read.
func windows(messages []Message) []window {
	var list []window
	var current window
	size := 0
	for i, m := range messages {
		for _, p := range pieces(i, m) {
			n := len(p.Text)
			if size > 0 && (size+n > maxWindow || len(current.Messages) == maxMessages) {
				list = append(list, current)
				current, size = window{Earlier: tail(current.Messages)}, 0
			}
			current.Messages = append(current.Messages, p)
			size += n
		}
	}
	if size == 0 {
		return list
	}
	return append(list, current)
}

// pieces returns the parts of a message, none if it is not read.
func pieces(i int, m Message) []piece {
	p := piece{ID: i, Role: m.Role, Name: shorten(oneLine(m.Name), maxName), at: m.At}
	if !m.At.IsZero() {
		p.Written = m.At.Format("2006-01-02 15:04, Monday")
	}
	rest := strings.TrimSpace(strings.ToValidUTF8(m.Text, "\uFFFD"))
	switch m.Role {
	case RoleTool:
		rest = shorten(rest, maxTool)
	case RoleUser, RoleAssistant:
	default:
		return nil
	}
	if oneLine(rest) == "" {
		return nil
	}
	var list []piece
	for rest != "" {
		p.Text, rest = cut(rest, maxWindow)
		list = append(list, p)
	}
	return list
}

// tail returns the last of the pieces, as many as fit, shortened.
func tail(list []piece) []piece {
	size, from := 0, len(list)
	for from > 0 && size < maxEarlier {
		from--
		size += len(list[from].Text)
	}
	out := append([]piece(nil), list[from:]...)
	for i := range out {
		out[i].Text = shorten(out[i].Text, maxEarlier)
	}
	return out
}
