package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
)

// haluUser is a line of HaluMem: a user's sessions, some with questions.
type haluUser struct {
	UUID     string        `json:"uuid"`
	Sessions []haluSession `json:"sessions"`
}

type haluSession struct {
	Start    string `json:"start_time"`
	End      string `json:"end_time"`
	Dialogue []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"dialogue"`
	Points    []haluPoint `json:"memory_points"`
	Questions []struct {
		Question string      `json:"question"`
		Answer   string      `json:"answer"`
		Evidence []haluPoint `json:"evidence"`
		Type     string      `json:"question_type"`
	} `json:"questions"`
}

// haluPoint is a fact stated in a session. Evidence repeats its content.
type haluPoint struct {
	Content string `json:"memory_content"`
}

// haluLayout is the date format of HaluMem: Dec 15, 2025, 06:11:23.
const haluLayout = "Jan 2, 2006, 15:04:05"

// haluUnknown is the type of questions about what no session says.
const haluUnknown = "Memory Boundary"

// readHaluMem reads users from JSON lines. Questions are asked after their session, because later
// sessions may change the right answer. Each session with questions therefore ends a haystack of
// all sessions so far.
func readHaluMem(in wholeFile) (w whole, err error) {
	eachLine(in.data, func(line int, data []byte) {
		if err != nil {
			return
		}
		var user haluUser
		if err = jsonstream.Decode(data, 0, &user); err == nil && strings.TrimSpace(user.UUID) == "" {
			err = errors.New("it has no uuid")
		}
		if err == nil {
			err = user.addTo(&w, in.traps)
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", line, err)
		}
	})
	return w, err
}

// addTo adds a user's questions and their haystacks.
func (u *haluUser) addTo(w *whole, traps *traps) error {
	var sessions []Session
	places := make([]int, len(u.Sessions)) // of sessions with text among sessions, -1 for others
	for n, s := range u.Sessions {
		where := fmt.Sprintf("%s: session %d", u.UUID, n+1)
		one, err := s.session(n+1, where, traps)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if places[n] = -1; len(one.Turns) > 0 {
			places[n], sessions = len(sessions), append(sessions, one)
		} else {
			traps.add(trapEmptySession, where)
		}
		if len(s.Questions) == 0 {
			continue
		}
		h := Haystack{ID: fmt.Sprintf("%s-%03d", u.UUID, n+1), Sessions: slices.Clone(sessions)}
		h.Brain = nameOf(h.ID)
		h.numbered(dataset.HaluMem)
		w.haystacks = append(w.haystacks, h)
		asked, err := time.Parse(haluLayout, s.End)
		if err != nil {
			return fmt.Errorf("%s: the end_time %.40q is not like Dec 15, 2025, 06:11:23", where, s.End)
		}
		for i, from := range s.Questions {
			q := Question{
				ID: fmt.Sprintf("%s-q%02d", h.ID, i+1), Type: from.Type, Text: from.Question, Answer: from.Answer,
				Haystack: h.ID, Date: utc(asked),
			}
			if strings.TrimSpace(q.Type) == "" {
				q.Type = noType
			}
			for _, e := range from.Evidence {
				q.addGold(u.told(e, places[:n+1]), h, e.Content, traps)
			}
			if q.Type == haluUnknown {
				q.Abstention, q.Topical = true, len(q.Gold) > 0
				traps.add(trapAbstention, q.ID)
			}
			w.questions = append(w.questions, q)
		}
	}
	return nil
}

// session returns a session, without turns if it has no text.
func (s *haluSession) session(n int, where string, traps *traps) (Session, error) {
	start, err := time.Parse(haluLayout, s.Start)
	if err != nil {
		return Session{}, fmt.Errorf("the start_time %.40q is not like Dec 15, 2025, 06:11:23", s.Start)
	}
	out := Session{SourceID: fmt.Sprintf("session_%d", n), Date: utc(start), When: s.Start}
	out.Title = fmt.Sprintf("Conversation %d, %s", n, start.Format("2 January 2006"))
	for i, turn := range s.Dialogue {
		at := fmt.Sprintf("%s: message %d", where, i+1)
		if strings.TrimSpace(turn.Content) == "" {
			traps.add(trapEmptyTurn, at)
			continue
		}
		role, name := roleOf(turn.Role, at, traps)
		out.Turns = append(out.Turns, Turn{Role: role, Name: name, Text: turn.Content})
	}
	return out, nil
}

// told returns the indexes of the sessions that state a fact.
func (u *haluUser) told(fact haluPoint, places []int) (at []int) {
	for n, place := range places {
		if place >= 0 && slices.Contains(u.Sessions[n].Points, fact) {
			at = append(at, place)
		}
	}
	return at
}

// addGold makes the sessions at these indexes gold. If there are none, what names the missing
// evidence.
func (q *Question) addGold(places []int, h Haystack, what string, traps *traps) {
	if len(places) == 0 {
		traps.add(trapGoldMissing, fmt.Sprintf("%s: %.60q", q.ID, what))
	}
	for _, at := range places {
		if path := h.Sessions[at].Path; !slices.Contains(q.Gold, path) {
			q.Gold = append(q.Gold, path)
		}
	}
}
