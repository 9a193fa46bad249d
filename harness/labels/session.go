package labels

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Session asks a labeller to label answers.
type Session struct {
	Population *Population
	File       *File
	Labeller   string
	// Size is the target number of labels and skipped answers.
	Size int
	// Show shows an answer and asks whether it is right. number counts from 1.
	Show func(number int, a *Answer)
	// Again asks again, and says why if why is not empty: the reply was not one of Replies.
	Again func(why string)
}

// Replies are the possible replies with their first letters.
const Replies = "y yes, n no, s skip, u undo, q quit"

// Run asks about unlabelled answers in drawing order until Size is reached, the labeller quits or
// in ends. Each label is on disk before the next question.
func (s *Session) Run(ctx context.Context, in io.Reader) error {
	size := min(s.Size, len(s.Population.Answers))
	lines := bufio.NewReader(in)
	next, err := s.next()
	for ; err == nil && next < size && ctx.Err() == nil; next, err = s.next() {
		s.Show(next+1, &s.Population.Answers[next])
		quit, err := s.reply(lines, next)
		if err != nil || quit {
			return err
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// next returns the index of the first unlabelled answer.
func (s *Session) next() (int, error) {
	labelled := make(map[string]string, len(s.File.Labels))
	for _, l := range s.File.Labels {
		labelled[l.ID] = l.Answer
	}
	for i, a := range s.Population.Answers {
		text, ok := labelled[a.ID]
		if !ok {
			return i, nil
		}
		if text != a.Text {
			return 0, fmt.Errorf("%s: the label of %q belongs to another answer than %s has: use one file of labels per result",
				s.File.Path, a.ID, s.Population.Path)
		}
	}
	return len(s.Population.Answers), nil
}

// reply reads replies until one is clear, and acts on it.
func (s *Session) reply(lines *bufio.Reader, next int) (quit bool, err error) {
	for {
		line, err := lines.ReadString('\n')
		switch {
		case line == "" && err == io.EOF:
			return true, nil
		case err != nil && err != io.EOF:
			return true, err
		}
		why := ""
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return false, s.File.Append(s.label(next, new(true)))
		case "n", "no":
			return false, s.File.Append(s.label(next, new(false)))
		case "s", "skip":
			return false, s.File.Append(s.label(next, nil))
		case "u", "undo":
			if len(s.File.Labels) > 0 {
				return false, s.File.Undo()
			}
			why = "there is no label to undo"
		case "q", "quit":
			return true, nil
		}
		s.Again(why)
	}
}

func (s *Session) label(at int, right *bool) Label {
	a := s.Population.Answers[at]
	reference := a.Reference
	if reference == "" {
		reference = strings.Join(a.Expected, " | ")
	}
	return Label{
		ID: a.ID, Question: a.Question, Reference: reference, Answer: a.Text, Right: right, Type: a.Type,
		QuestionDate: a.QuestionDate, Skipped: right == nil, Labeller: s.Labeller,
		Design: s.Population.Design, At: time.Now().UTC().Truncate(time.Second),
	}
}
