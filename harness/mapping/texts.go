package mapping

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"evalctl/harness/target"
)

// head is what the beginning of a document says about it.
type head struct{ title, date, body string }

// headOf reads the date of the front matter and the first heading. The body is the document without
// the front matter.
func headOf(text string) head {
	h := head{body: text}
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if front, body, ok := strings.Cut(rest, "\n---\n"); ok {
			h.body = strings.TrimLeft(body, "\n")
			for line := range strings.SplitSeq(front, "\n") {
				switch key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) {
				case "date":
					h.date = strings.Trim(strings.TrimSpace(value), `"'`)
				case "title":
					h.title = strings.Trim(strings.TrimSpace(value), `"'`)
				}
			}
		}
	}
	if first, _, _ := strings.Cut(h.body, "\n"); strings.HasPrefix(first, "# ") && h.title == "" {
		h.title = strings.TrimSpace(first[2:])
	}
	return h
}

// values returns the placeholders of a document.
func (h head) values(brain, id string) map[string]any {
	v := map[string]any{"brain": brain, "id": id}
	if h.title != "" {
		v["title"] = h.title
	}
	if h.date != "" {
		v["date"] = h.date
	}
	return v
}

// otherInNames are the characters that names of files do not have everywhere.
var otherInNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^A-Za-z0-9._-]+`)
})

// nameOf returns an id as a name of a file without folders. A name that differs from its id has a
// digest of it.
func nameOf(id string) string {
	name := otherInNames().ReplaceAllString(id, "-")
	if name == id {
		return id
	}
	return sum([]byte(id))[:8] + "-" + name
}

// cutText cuts a text into parts of at most limit characters, 0 for no limit: after a line if there is
// one in the second half of a part, else after a sentence or a word.
func cutText(text string, limit int) []string {
	if limit <= 0 || utf8.RuneCountInString(text) <= limit {
		return []string{text}
	}
	var parts []string
	for utf8.RuneCountInString(text) > limit {
		end := len(text)
		n := 0
		for i := range text {
			if n == limit {
				end = i
				break
			}
			n++
		}
		part := text[:end]
		for _, after := range []string{"\n\n", "\n", ". ", " "} {
			if at := strings.LastIndex(part, after); at > len(part)/2 {
				part = part[:at+len(after)]
				break
			}
		}
		text = text[len(part):]
		parts = append(parts, part)
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}

// group is what of a conversation is remembered with one call.
type group struct {
	texts               []string
	speaker, role, date string
}

// grouped returns the calls of a conversation, in the order of the first turn of each. A text says who
// speaks, unless the call has the speaker itself.
func grouped(c target.Conversation, per Grouping, o *operation) []group {
	var all []*group
	bySpeaker := map[string]*group{}
	named := o.arguments.uses("speaker")
	for _, t := range c.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		speaker := t.Speaker()
		text := t.Text
		if !named && speaker != "" {
			text = speaker + ": " + t.Text
		}
		var g *group
		switch {
		case per == PerSession && len(all) > 0:
			g = all[0]
		case per == PerSpeaker:
			g = bySpeaker[speaker]
		}
		if g == nil {
			g = &group{role: t.Role, date: t.Date}
			if per != PerSession {
				g.speaker = speaker
			}
			all, bySpeaker[speaker] = append(all, g), g
		}
		g.texts = append(g.texts, cutText(text, o.limit)...)
	}
	var out []group
	for _, g := range all {
		out = append(out, g.divided(o)...)
	}
	return out
}

// divided divides a group whose texts do not fit into one call: several of them count together if the
// call has them as one text.
func (g *group) divided(o *operation) []group {
	together := !o.arguments.uses("texts")
	var out []group
	size := 0
	for _, text := range g.texts {
		n := utf8.RuneCountInString(text)
		full := len(out) == 0
		if !full {
			last := len(out[len(out)-1].texts)
			full = o.texts > 0 && last == o.texts || together && o.limit > 0 && size+n+1 > o.limit
		}
		if full {
			out = append(out, group{speaker: g.speaker, role: g.role, date: g.date})
			size = 0
		}
		last := &out[len(out)-1]
		last.texts = append(last.texts, text)
		size += n + 1
	}
	return out
}
