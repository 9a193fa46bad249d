package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// The files beside the questions of LongMemEval-V2. A haystack file lists the trajectories of each
// question.
const (
	lme2Trajectories = "trajectories.jsonl"
	lme2Haystacks    = "haystacks/*.json"
	lme2Small        = "lme_v2_small.json" // the haystacks that are read if there are several
)

// lme2Question is a line of the questions. Answer is a string, a list of strings, a number or a
// boolean.
type lme2Question struct {
	ID       string          `json:"id"`
	Domain   string          `json:"domain"`
	Type     string          `json:"question_type"`
	Question string          `json:"question"`
	Image    string          `json:"image"`
	Answer   json.RawMessage `json:"answer"`
}

// trajectory is a line of the trajectories: an agent's steps in a browser to reach a goal.
type trajectory struct {
	ID      string `json:"id"`
	Goal    string `json:"goal"`
	Outcome string `json:"outcome"`
	States  []struct {
		URL        string `json:"url"`
		Action     string `json:"action"`
		Thought    string `json:"thought"`
		Tree       string `json:"accessibility_tree"`
		Screenshot string `json:"screenshot"`
	} `json:"states"`
}

// readLongMemEval2 reads the questions that have no image, and the texts of their trajectories.
func readLongMemEval2(in wholeFile) (w whole, err error) {
	dir := filepath.Dir(in.path)
	trajectories, err := readLME2Haystacks(in, dir)
	if err != nil {
		return w, err
	}
	needed := map[string][]Session{} // by the ids of trajectories
	of := map[string][]string{}      // the trajectories of each haystack
	eachLine(in.data, func(line int, data []byte) {
		if err != nil {
			return
		}
		var from lme2Question
		var q Question
		if err = jsonstream.Decode(data, 0, &from); err == nil {
			q, err = from.question()
		}
		list := trajectories[q.ID]
		switch {
		case err != nil:
		case len(list) == 0:
			err = fmt.Errorf("the question %q has no trajectories in %s", q.ID, lme2Haystacks)
		case from.Image != "":
			in.traps.add(trapQuestionImage, q.ID+": "+from.Image)
		default:
			q.Haystack = "lme-v2-" + from.Domain + "-" + mark(strings.Join(list, "\n"))
			of[q.Haystack] = list
			w.questions = append(w.questions, q)
			for _, id := range list {
				needed[id] = nil
			}
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", line, err)
		}
	})
	if err == nil {
		err = readTrajectories(in, filepath.Join(dir, lme2Trajectories), needed)
	}
	if err == nil {
		w.haystacks = lme2Assemble(w.questions, of, needed)
	}
	return w, err
}

// question returns a question, without its haystack.
func (l lme2Question) question() (Question, error) {
	q := Question{ID: l.ID, Type: l.Type, Text: l.Question, Answer: textOf(l.Answer)}
	switch {
	case q.ID == "":
		return q, errors.New("it has no id")
	case q.Type == "":
		return q, fmt.Errorf("question %q has no question_type", q.ID)
	}
	return q, nil
}

// textOf returns a string, the strings of a list, or another value as written in the file.
func textOf(value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ", ")
	}
	return string(value)
}

// readLME2Haystacks returns the trajectory ids by question id.
func readLME2Haystacks(in wholeFile, dir string) (map[string][]string, error) {
	found, err := globIn(dir, lme2Haystacks)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(found, func(f string) bool { return filepath.Base(f) == lme2Small }); i >= 0 {
		found = found[i : i+1]
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s must have haystacks/%s, or one other file of haystacks, and it has %d; "+
			"download the folder haystacks and %s too", dir, lme2Small, len(found), lme2Trajectories)
	}
	data, err := in.beside(found[0])
	if err != nil {
		return nil, err
	}
	var ids map[string][]string
	if err := jsonstream.Decode(inputfile.Text(data), 0, &ids); err != nil {
		return nil, fmt.Errorf("%s: %w", found[0], err)
	}
	return ids, nil
}

// readTrajectories fills in the sessions of the needed trajectories, one per state.
func readTrajectories(in wholeFile, path string, needed map[string][]Session) error {
	err := in.lines(path, func(data []byte) error {
		var t trajectory
		if err := jsonstream.Decode(data, 0, &t); err != nil {
			return err
		}
		if sessions, need := needed[t.ID]; !need {
			return nil
		} else if sessions != nil {
			return fmt.Errorf("the trajectory %q occurs twice", t.ID)
		}
		needed[t.ID] = t.sessions(in.traps)
		return nil
	})
	if err != nil {
		return err
	}
	for id, sessions := range needed {
		if sessions == nil {
			return fmt.Errorf("%s has no trajectory %q with a state, which a haystack names", path, id)
		}
	}
	return nil
}

// sessions returns a session for each state of a trajectory: the page's content and the agent's
// thoughts and actions. The last one has the outcome.
func (t trajectory) sessions(traps *traps) (all []Session) {
	for i, s := range t.States {
		if s.Screenshot != "" {
			traps.add(trapScreenshot, s.Screenshot)
		}
		did := "Thought: " + s.Thought + "\nAction: " + s.Action
		if i == len(t.States)-1 && t.Outcome != "" {
			did += "\nOutcome: " + t.Outcome
		}
		all = append(all, Session{
			SourceID: fmt.Sprintf("%s/%d", t.ID, i), Title: fmt.Sprintf("%s, step %d", t.Goal, i+1),
			Turns: []Turn{
				{Role: "user", Text: fmt.Sprintf("Goal: %s\nPage: %s\n\n%s", t.Goal, s.URL, s.Tree)},
				{Role: "assistant", Text: did},
			},
		})
	}
	return all
}

// lme2Assemble returns each haystack of the questions once, with sessions in the order of the
// trajectories.
func lme2Assemble(questions []Question, of map[string][]string,
	trajectories map[string][]Session,
) (all []Haystack) {
	for _, q := range questions {
		if slices.ContainsFunc(all, func(h Haystack) bool { return h.ID == q.Haystack }) {
			continue
		}
		h := Haystack{ID: q.Haystack, Brain: nameOf(q.Haystack)}
		for _, id := range of[q.Haystack] {
			h.Sessions = append(h.Sessions, trajectories[id]...)
		}
		h.numbered(dataset.LongMemEval2)
		all = append(all, h)
	}
	return all
}
