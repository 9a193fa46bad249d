package source

import (
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonstream"
	"evalctl/internal/printable"
)

// instance is one element of a LongMemEval file: a question and its haystack.
type instance struct {
	id, kind, question string
	answer             scalar
	date               string
	gold, ids, dates   []string
	sessions           []chat
}

// chat is one session of an instance.
type chat struct {
	turns  []Turn // nil if texts are not kept
	count  int    // of the turns with text
	size   int64
	marked bool     // a turn says that it has the answer
	marks  []string // the texts of such turns
}

// info implements element.
func (in *instance) info() HaystackInfo {
	info := HaystackInfo{ID: in.id}
	for _, s := range in.sessions {
		info.Turns += s.count
		info.TextBytes += s.size
	}
	return info
}

// name names the instance in errors.
func (in *instance) name(n int) string {
	if in.id == "" {
		return fmt.Sprintf("instance %d", n)
	}
	return fmt.Sprintf("question %q", in.id)
}

// instance reads an instance. With an error, it also returns the part read so far.
func (w *walker) instance(n int) (*instance, error) {
	in := &instance{}
	w.where = in.name(n)
	if err := w.object("an instance"); err != nil {
		return in, err
	}
	err := w.required("instance", []string{
		"question_id", "question_type", "question", "answer_session_ids",
		"haystack_session_ids", "haystack_dates", "haystack_sessions",
	}, func(key string) (err error) {
		switch key {
		case "question_id":
			in.id, err = w.text(key)
			w.where = in.id
		case "question_type":
			in.kind, err = w.text(key)
		case "question":
			in.question, err = w.text(key)
		case "question_date":
			var s scalar
			s, err = w.scalar(key)
			in.date = s.text
		case "answer":
			in.answer, err = w.scalar(key)
		case "answer_session_ids":
			in.gold, err = w.texts(key)
		case "haystack_session_ids":
			in.ids, err = w.texts(key)
		case "haystack_dates":
			in.dates, err = w.texts(key)
		case "haystack_sessions":
			err = w.chats(in)
		default:
			err = w.unknown(key)
		}
		return err
	})
	return in, err
}

func (w *walker) chats(in *instance) error {
	return w.array("haystack_sessions", func() error {
		var c chat
		err := w.array("a session", func() error { return w.turn(&c, len(in.sessions)+1) })
		in.sessions = append(in.sessions, c)
		return err
	})
}

// turn reads a turn of the file's nth session.
func (w *walker) turn(c *chat, n int) error {
	if err := w.object("a turn"); err != nil {
		return err
	}
	start := w.r.Offset()
	var role, content scalar
	var marks bool
	err := w.members(func(key string) (err error) {
		switch key {
		case "role":
			role, err = w.scalar(key)
		case "content":
			content, err = w.scalar(key)
		case "has_answer":
			marks, err = w.boolean()
			c.marked = c.marked || marks
			w.traps.add(trapGoldMark, fmt.Sprintf("%s: session %d", w.where, n))
		default:
			err = w.unknown(key)
		}
		return err
	})
	if err != nil {
		return err
	}
	at := func() string { return fmt.Sprintf("%s: session %d, byte %d", w.where, n, start) }
	if !content.filled {
		w.traps.add(trapEmptyTurn, at())
		return nil
	}
	if content.number {
		w.traps.add(trapContentType, at())
	}
	t := Turn{Role: role.text, Text: content.text}
	switch t.Role {
	case "user", "assistant":
	case "":
		return jsonstream.At(start, fmt.Errorf("session %d has a turn without a role", n))
	default:
		w.traps.add(trapRole, fmt.Sprintf("%s: session %d, %.40q", w.where, n, t.Role))
		t.Role, t.Name = "user", printable.First(strings.Join(strings.Fields(t.Role), " "), protocol.MaxMessageName)
	}
	if marks {
		c.marks = append(c.marks, t.Text)
	}
	c.count++
	c.size += int64(len(content.text))
	if w.keep {
		c.turns = append(c.turns, t)
	}
	return nil
}

// boolean reads a boolean, or null as false.
func (w *walker) boolean() (value bool, err error) {
	raw, at, err := w.value()
	if err != nil {
		return false, err
	}
	return value, jsonstream.Decode(raw, at, &value)
}
