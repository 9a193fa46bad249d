package mapping

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"evalctl/harness/target"
)

// group is the part of a conversation that is remembered in one call.
type group struct {
	turns               []map[string]any // the values for each turn, text among them
	speaker, role, date string
}

// conversationCalls returns the calls that remember a conversation, ordered by their first turn.
func conversationCalls(c target.Conversation, per Grouping, o *operation) (calls []call) {
	turns := 0
	for _, g := range grouped(c, per, o) {
		one := call{values: set(map[string]any{"session": c.ID}, "title", c.Title, "date", cmp.Or(g.date, c.Date), "speaker", g.speaker, "role", g.role)}
		whole := text{id: partID(c.Path, len(calls)), path: c.Path, values: one.values}
		var lines []string
		for _, values := range g.turns {
			lines = append(lines, values["text"].(string))
			one.texts = append(one.texts, text{id: partID(c.Path, turns), path: c.Path, values: values}.named())
			turns++
		}
		one.values["text"] = strings.Join(lines, "\n")
		one.values["document"] = one.values["text"]
		whole = whole.named()
		if !o.several() {
			one.texts = []text{whole}
		}
		calls = append(calls, one)
	}
	return calls
}

// set adds name and value pairs, except empty values.
func set(values map[string]any, pairs ...string) map[string]any {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values[pairs[i]] = pairs[i+1]
		}
	}
	return values
}

// grouped divides a conversation into groups. Texts include the speaker unless the call has an
// argument for it.
func grouped(c target.Conversation, per Grouping, o *operation) []group {
	var all []*group
	bySpeaker := map[string]*group{}
	named := o.sends("speaker")
	for _, t := range c.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		speaker := t.Speaker()
		said := t.Text
		if !named && speaker != "" {
			said = speaker + ": " + t.Text
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
		for _, part := range cutText(said, o.limit) {
			g.turns = append(g.turns, set(map[string]any{"text": part, "session": c.ID}, "title", c.Title,
				"date", cmp.Or(t.Date, c.Date), "speaker", speaker, "role", t.Role))
		}
	}
	var out []group
	for _, g := range all {
		out = append(out, g.divided(o)...)
	}
	return out
}

// divided divides a group whose texts exceed the limit of a call. The texts count together if the
// call sends them as one.
func (g *group) divided(o *operation) []group {
	together := !o.several()
	var out []group
	size := 0
	for _, values := range g.turns {
		n := utf8.RuneCountInString(values["text"].(string))
		full := len(out) == 0
		if !full {
			last := len(out[len(out)-1].turns)
			full = o.texts > 0 && last == o.texts || together && o.limit > 0 && size+n+1 > o.limit
		}
		if full {
			out = append(out, group{speaker: g.speaker, role: g.role, date: g.date})
			size = 0
		}
		last := &out[len(out)-1]
		last.turns = append(last.turns, values)
		size += n + 1
	}
	return out
}
