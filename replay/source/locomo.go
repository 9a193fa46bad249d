package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonstream"
)

// conversation is one element of a LoCoMo file: sessions between two people, and questions.
type conversation struct {
	id       string
	speakers [2]string
	sessions map[int]*meeting  // by number
	turns    map[turnID]string // their texts
	named    map[string]int    // the sessions of turns whose ids are not like D8:6
	qa       []askedID
}

// meeting is one session of a conversation.
type meeting struct {
	date  string
	given bool // its turns
	turns []Turn
	count int
	size  int64
}

// askedID is a question of a conversation.
type askedID struct {
	question            string
	category            int
	answer, adversarial scalar
	evidence            []string
	offset              int64
}

// info implements element.
func (c *conversation) info() HaystackInfo {
	info := HaystackInfo{ID: c.id}
	for _, m := range c.sessions {
		info.Turns += m.count
		info.TextBytes += m.size
	}
	return info
}

func (c *conversation) name(n int) string {
	if c.id == "" {
		return fmt.Sprintf("conversation %d", n)
	}
	return fmt.Sprintf("conversation %q", c.id)
}

// conversation reads a conversation. With an error, it also returns the part read so far.
func (w *walker) conversation(n int) (*conversation, error) {
	c := &conversation{
		sessions: map[int]*meeting{}, turns: make(map[turnID]string, 512), named: map[string]int{},
	}
	w.where = c.name(n)
	if err := w.object("a conversation"); err != nil {
		return c, err
	}
	err := w.required("conversation", []string{"sample_id", "conversation", "qa"}, func(key string) (err error) {
		switch key {
		case "sample_id":
			c.id, err = w.text(key)
			w.where = c.id
		case "conversation":
			err = w.meetings(c)
		case "qa":
			err = w.array(key, func() error { return w.asked(c) })
		case "event_summary", "observation", "session_summary":
			err = w.skip() // written by a model from the sessions
		default:
			err = w.unknown(key)
		}
		return err
	})
	return c, err
}

// meetings reads the sessions of a conversation, whose keys end in their number.
func (w *walker) meetings(c *conversation) error {
	if err := w.object("conversation"); err != nil {
		return err
	}
	return w.members(func(key string) (err error) {
		switch key {
		case "speaker_a":
			c.speakers[0], err = w.text(key)
			return err
		case "speaker_b":
			c.speakers[1], err = w.text(key)
			return err
		}
		rest, isSession := strings.CutPrefix(key, "session_")
		digits, isDate := strings.CutSuffix(rest, "_date_time")
		number, err := strconv.Atoi(digits)
		if !isSession || err != nil || number < 1 || digits != strconv.Itoa(number) {
			return w.unknown(key)
		}
		m := c.sessions[number]
		if m == nil {
			m = &meeting{turns: make([]Turn, 0, 32)}
			c.sessions[number] = m
		}
		if isDate {
			m.date, err = w.text(key)
			return err
		}
		m.given = true
		return w.array(key, func() error { return w.said(c, m, key, number) })
	})
}

// said reads one turn of a session.
func (w *walker) said(c *conversation, m *meeting, session string, number int) error {
	if err := w.object("a turn"); err != nil {
		return err
	}
	start := w.r.Offset()
	var speaker, text, caption, id scalar
	err := w.members(func(key string) (err error) {
		switch key {
		case "speaker":
			speaker, err = w.scalar(key)
		case "text":
			text, err = w.scalar(key)
		case "blip_caption":
			caption, err = w.scalar(key)
		case "dia_id":
			id, err = w.scalar(key)
		case "img_url", "query", "re-download":
			err = w.skip() // where the photo was found
		default:
			err = w.unknown(key)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !speaker.filled || strings.ContainsAny(speaker.text, "\r\n") ||
		len([]rune(speaker.text)) > protocol.MaxMessageName {
		return jsonstream.At(start, fmt.Errorf("%s: the turn has no usable speaker", session))
	}
	if caption.filled {
		text.text += " [shares " + caption.text + "]"
	}
	if t, ok := plainTurnID(id.text); ok {
		c.turns[t] = text.text
	} else if ids := turnIDs(id.text); len(ids) > 0 {
		for _, t := range ids {
			c.turns[t] = text.text
		}
	} else if id.filled {
		c.named[id.text] = number
	}
	if !text.filled && !caption.filled {
		w.traps.add(trapEmptyTurn, fmt.Sprintf("%s: %s, byte %d", w.where, session, start))
		return nil
	}
	if text.number {
		w.traps.add(trapContentType, fmt.Sprintf("%s: %s, byte %d", w.where, session, start))
	}
	m.count++
	m.size += int64(len(text.text))
	m.turns = append(m.turns, Turn{Name: speaker.text, Text: text.text, SourceID: id.text})
	return nil
}

// errLifeShape refuses LifeBench's questions in LoCoMo's shape: their categories have other
// meanings, each is asked on its own day, and their evidence names turns by a part of the id.
var errLifeShape = errors.New("its ask_time says that it is LifeBench's, whose categories and evidence are not LoCoMo's; " +
	"use the person's own file of questions, such as QA_clean.json, with the folder phone_data")

// asked reads one question of a conversation.
func (w *walker) asked(c *conversation) error {
	if err := w.object("a question"); err != nil {
		return err
	}
	a := askedID{offset: w.r.Offset()}
	var wrong error // of the category, reported last, because LifeBench's is a list
	err := w.members(func(key string) (err error) {
		switch key {
		case "question":
			a.question, err = w.text(key)
		case "answer":
			a.answer, err = w.scalar(key)
		case "adversarial_answer":
			a.adversarial, err = w.scalar(key)
		case "evidence":
			a.evidence, err = w.texts(key)
		case "category":
			var raw json.RawMessage
			var at int64
			if raw, at, err = w.value(); err == nil {
				wrong = jsonstream.Decode(raw, at, &a.category)
			}
		case "ask_time":
			err = errLifeShape
		default:
			err = w.unknown(key)
		}
		return err
	})
	if err == nil {
		err = wrong
	}
	if err != nil {
		return fmt.Errorf("question %d: %w", len(c.qa)+1, err)
	}
	c.qa = append(c.qa, a)
	return nil
}
