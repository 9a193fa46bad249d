package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// phoneFiles matches a user's phone records, beside the folder of the questions. Each file is named
// after the kind of its records.
const phoneFiles = "phone_data/*.json"

// phoneRecord is a record of a phone: a message, a call, a note, or a chat with the phone's
// assistant.
type phoneRecord struct {
	id    json.RawMessage
	at    time.Time // zero if undated
	turns []Turn
}

// readPhone returns a user's records as a haystack with one session per day. Undated records form
// the first session.
func readPhone(in wholeFile) (h Haystack, err error) {
	dir := filepath.Dir(in.path)
	var files []string
	for _, base := range []string{dir, filepath.Join(dir, "..")} {
		if files, err = globIn(base, phoneFiles); err != nil {
			return h, err
		}
		if len(files) > 0 {
			dir = base
			break
		}
	}
	if len(files) == 0 {
		return h, fmt.Errorf("there is no folder phone_data with records in %s or the folder above it; "+
			"download it too", dir)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return h, err
	}
	h = Haystack{ID: filepath.Base(absolute)}
	h.Brain = nameOf(h.ID)
	var records []phoneRecord
	for _, path := range files {
		data, err := in.beside(path)
		if err != nil {
			return h, err
		}
		kind := strings.TrimSuffix(filepath.Base(path), ".json")
		of := &walker{r: jsonstream.New(bytes.NewReader(inputfile.Text(data)), 0), traps: in.traps}
		err = of.r.Elements(func() error {
			r, err := of.record(kind)
			records = append(records, r)
			return err
		})
		if err == nil {
			err = of.end()
		}
		if err != nil {
			return h, fmt.Errorf("%s: %w", path, err)
		}
	}
	slices.SortStableFunc(records, func(a, b phoneRecord) int { return a.at.Compare(b.at) })
	h.Sessions = days(records)
	if len(h.Sessions) == 0 {
		return h, errNoSessions
	}
	h.numbered(dataset.LifeBench)
	return h, nil
}

// days returns a session for each day of the sorted records.
func days(records []phoneRecord) (all []Session) {
	for _, r := range records {
		day, title, date := "undated", "Records without a date", ""
		if !r.at.IsZero() {
			day, title = r.at.Format(time.DateOnly), "Records of "+r.at.Format("2 January 2006")
			date = utc(r.at.Truncate(24 * time.Hour))
		}
		if len(all) == 0 || all[len(all)-1].SourceID != day {
			all = append(all, Session{SourceID: day, Title: title, Date: date})
			if date != "" {
				all[len(all)-1].When = day
			}
		}
		s := &all[len(all)-1]
		s.Turns = append(s.Turns, r.turns...)
	}
	return all
}

// record reads a record. Its text has a line for each non-empty member. Event ids are left out,
// because they reveal which records belong to a question.
func (w *walker) record(kind string) (r phoneRecord, err error) {
	if err := w.object("a record"); err != nil {
		return r, err
	}
	lines, chat := []string{kind}, []Turn(nil)
	err = w.members(func(key string) error {
		raw, _, err := w.value()
		if err != nil {
			return err
		}
		text := memberText(raw)
		switch key {
		case "type", "event_id", "daily_event_id":
			return nil
		case "phone_id":
			r.id = slices.Clone(raw)
			return nil
		case "conversation":
			chat = chatTurns(raw)
		case "datetime", "date", "start_time", "日期": // date, in the first version
			if t, ok := isoDate(text); ok && (r.at.IsZero() || key == "datetime") {
				r.at = t
			}
		}
		if text != "" {
			lines = append(lines, key+": "+text)
		}
		return nil
	})
	if err == nil && r.id == nil {
		err = errors.New("a record has no phone_id")
	}
	if err == nil && chat == nil {
		chat = []Turn{{Role: "user", Text: strings.Join(lines, "\n")}}
	}
	for i := range chat {
		chat[i].SourceID = recordName(kind, r.id)
	}
	r.turns = chat
	return r, err
}

// memberText returns a member's value as text, empty if it has none.
func memberText(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || slices.Contains([]string{"null", "[]", "{}"}, b.String()) {
		return ""
	}
	return b.String()
}

// chatTurns returns the turns of a chat with the phone's assistant, nil for another form.
func chatTurns(raw []byte) (turns []Turn) {
	r := jsonstream.New(bytes.NewReader(raw), 0)
	err := r.Members(func(string) error {
		value, err := r.Value()
		if err != nil {
			return err
		}
		var both struct {
			User, Assistant struct {
				Content string `json:"content"`
			}
		}
		if err := jsonstream.Decode(value, 0, &both); err != nil {
			return err
		}
		for _, t := range []Turn{
			{Role: "user", Text: both.User.Content}, {Role: "assistant", Text: both.Assistant.Content},
		} {
			if strings.TrimSpace(t.Text) != "" {
				turns = append(turns, t)
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return turns
}
