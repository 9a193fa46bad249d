package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonobj"
	"evalctl/scorer"
)

// Label is a person's verdict on an answer: one line of a file for checking a judge.
type Label struct {
	// Item is the question, its reference and the answer.
	Item scorer.Item
	// Right is the person's verdict.
	Right bool
	// Disagreement is set if the answer was drawn with --sample disagreement.
	Disagreement bool
}

// labelSynonyms map other names for a label's keys, normalized by letters, to the known keys.
var labelSynonyms = map[string]string{
	"questionid": "id", "qid": "id",
	"query": "question", "prompt": "question",
	"reference": "reference_answer", "expectedanswer": "reference_answer",
	"goldanswer": "reference_answer", "correctanswer": "reference_answer", "groundtruth": "reference_answer",
	"candidate": "answer", "candidateanswer": "answer", "response": "answer", "prediction": "answer",
	"hypothesis": "answer", "generatedanswer": "answer",
	"verdict": "label", "correct": "label", "iscorrect": "label", "humanlabel": "label", "passed": "label",
	"judgetype": "type", "date": "question_date", "askedat": "question_date",
}

// ReadLabels reads a JSONL file of labels. Lines have id, question, reference_answer, answer and
// label, which is true, false, "correct" or "incorrect", and optionally type, one of scorer.Types,
// question_date, and the sample that the answer was drawn for. Lines with "skipped": true, which
// the labeller could not decide, are left out. It returns an error for a bad line, a repeated id,
// and a label that check rejects. The error lists up to ten lines, each a *LineError.
func ReadLabels(path string, check func(scorer.Item) error) ([]Label, error) {
	if err := resultfile.Unexpected(path, "labels, one a line in JSON, as evalctl judge label writes them"); err != nil {
		return nil, err
	}
	f, err := inputfile.OpenStream(path, inputfile.Streamed)
	if err != nil {
		return nil, fmt.Errorf("open labels: %w", err)
	}
	defer f.Close()
	return readLabels(f, path, check)
}

func readLabels(r io.Reader, path string, check func(scorer.Item) error) ([]Label, error) {
	var labels []Label
	var bad []error
	lines := map[string]int{}
	for line, err := range readLines(r, path) {
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				return nil, err
			}
			bad = append(bad, err)
			continue
		}
		label, skipped, err := parseLabel(line.text)
		if skipped {
			continue
		}
		if first, ok := lines[label.Item.ID]; err == nil && ok {
			err = fmt.Errorf("id %q is already used on line %d; ids must be unique", label.Item.ID, first)
		} else if err == nil {
			err = check(label.Item)
		}
		if err != nil {
			bad = append(bad, &LineError{File: path, Line: line.number, Err: err})
			continue
		}
		lines[label.Item.ID] = line.number
		labels = append(labels, label)
	}
	if len(bad) > 0 {
		return nil, JoinLines(bad)
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("%s: no labels; the file has one JSON object per line", path)
	}
	return labels, nil
}

func parseLabel(line []byte) (l Label, skipped bool, err error) {
	var answer *string
	var label, sample json.RawMessage
	_, err = decodeObject(line, newKeyNames(labelSynonyms),
		field{key: "id", into: &l.Item.ID},
		field{key: "question", into: &l.Item.Question},
		field{key: "reference_answer", into: &l.Item.Reference},
		field{key: "answer", into: &answer},
		field{key: "label", into: &label},
		field{key: "type", into: &l.Item.Type},
		field{key: "question_date", into: &l.Item.QuestionDate},
		field{key: "skipped", into: &skipped},
		field{key: "sample", into: &sample},
	)
	if err != nil || skipped {
		return l, skipped, err
	}
	switch {
	case l.Item.ID == "":
		return l, false, errors.New(`"id" is missing; give the label a unique id`)
	case l.Item.Question == "":
		return l, false, fmt.Errorf(`label %q: "question" is missing or empty`, l.Item.ID)
	case answer == nil:
		return l, false, fmt.Errorf(`label %q: "answer" is missing; it may be empty`, l.Item.ID)
	}
	l.Item.Answer = *answer
	drawn, _ := jsonobj.String(sample) // files of other tools may have anything there
	l.Disagreement = drawn == "disagreement"
	if l.Item.QuestionDate != "" {
		if _, err := parseDate(l.Item.QuestionDate); err != nil {
			return l, false, fmt.Errorf(`label %q: "question_date": %w`, l.Item.ID, err)
		}
	}
	if l.Right, err = parseVerdict(label); err != nil {
		return l, false, fmt.Errorf("label %q: %w", l.Item.ID, err)
	}
	return l, false, nil
}

// parseVerdict parses the value of the key label.
func parseVerdict(value json.RawMessage) (right bool, err error) {
	text := string(value)
	if s, ok := jsonobj.String(value); ok {
		text = s
	}
	switch {
	case text == "" || text == "null":
		return false, errors.New(`"label" is missing; give true or false`)
	case text == "true" && value[0] == 't', text == "correct":
		return true, nil
	case text == "false" && value[0] == 'f', text == "incorrect":
		return false, nil
	}
	return false, fmt.Errorf(`"label" is %.40s; it must be true, false, "correct" or "incorrect"`, value)
}
