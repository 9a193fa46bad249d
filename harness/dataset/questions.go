package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// MaxQuestions is the largest number of questions of a run.
const MaxQuestions = 10_000_000

// Question is one line of a dataset (spec 4.4). Line is its line number in the file, counted from
// 1.
type Question struct {
	ID       string
	Question string
	// ExpectedSubstrings are the texts that the exact scorer looks for.
	ExpectedSubstrings []string
	// ReferenceAnswer is the answer that the judge compares an answer with.
	ReferenceAnswer string
	// QuestionDate is the time at which the question is asked, RFC 3339 or YYYY-MM-DD; empty for
	// none.
	QuestionDate string
	// ExpectedPaths are the paths of the gold documents in the corpus.
	ExpectedPaths []string
	Tags          []string
	// Brain is the brain in which the question is asked. A line need not name one; the questions of
	// a Dataset all have one, by its BrainNaming.
	Brain string
	Line  int
	// Type is the question's type in a benchmark, empty for none. A line has none.
	Type string
	// JudgeType is how a judge with several prompts judges an answer: one of scorer.Types, or empty.
	JudgeType string

	digest  uint64   // of the line's text
	unknown []string // the other keys of the line
}

// Item returns the parts of the question that a scorer sees, without an answer.
func (q Question) Item() scorer.Item {
	return scorer.Item{
		ID: q.ID, Question: q.Question, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		Gold: result.Gold(q.ExpectedPaths), Type: q.JudgeType,
	}
}

// Dataset is a JSONL file of questions that Open has found usable.
type Dataset struct {
	Path   string
	SHA256 string
	// Total is the number of questions in the file, Selected the number of those within the limit.
	Total    int
	Selected int
	// Tags has the number of selected questions by tag.
	Tags map[string]int
	// Unknown has the number of lines by key, for keys that a question does not have. Their values
	// are ignored.
	Unknown map[string]int

	naming  BrainNaming
	brains  map[string]*brainQuestions // of all questions, by name
	digests []uint64                   // of the selected lines, in order
	memory  []Question                 // the questions of a dataset without a file to read again
}

// digestSeed is the same for all digests of one process, so that they can be compared.
var digestSeed = maphash.MakeSeed()

// Open reads the whole file once and returns an error if any line is bad: broken JSON, a missing or
// wrongly typed field, an unknown one that probably means a missing one, a duplicate id, a question
// whose brain cannot be determined by naming, or one that check rejects. The error lists up to ten
// lines, each a *LineError. For a file in another format it is a *FormatError. The first limit
// questions are selected, all of them if limit is nil.
func Open(path string, limit *int, naming BrainNaming, check func(Question) error) (Dataset, error) {
	if limit != nil && *limit < 1 {
		return Dataset{}, fmt.Errorf("limit %d: ask at least 1 question, or omit the limit to ask all",
			*limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("open dataset: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	d := Dataset{
		Path: path, Tags: map[string]int{}, naming: naming, brains: map[string]*brainQuestions{},
	}
	head, text := readHead(f)
	if err := checkFormat(path, convertedName(path), head); err != nil {
		return Dataset{}, err
	}
	bad, err := d.read(io.TeeReader(text, sum), limit, check)
	if err != nil {
		return Dataset{}, err
	}
	if len(bad) > 0 {
		return Dataset{}, JoinLines(bad)
	}
	switch {
	case d.Total == 0:
		return Dataset{}, fmt.Errorf("%s: no questions; a dataset has one JSON object per line", path)
	case d.Selected > MaxQuestions:
		return Dataset{}, fmt.Errorf("%s: %d questions are more than one run may have (%d); "+
			"split the file or set a limit", path, d.Selected, MaxQuestions)
	}
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// read checks all questions of r and adds them up. It returns the errors of bad lines.
func (d *Dataset) read(r io.Reader, limit *int, check func(Question) error) (bad []error, err error) {
	lines := make(map[string]int)
	report := func(line int, err error) {
		bad = append(bad, &LineError{File: d.Path, Line: line, Err: err})
	}
	for q, err := range readQuestions(r, d.Path) {
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				return nil, err
			}
			bad = append(bad, err)
			continue
		}
		selected := limit == nil || d.Selected < *limit
		if first, ok := lines[q.ID]; ok {
			report(q.Line, fmt.Errorf("id %q is already used on line %d; ids must be unique",
				q.ID, first))
		} else if err := d.addQuestion(q, selected); err != nil {
			report(q.Line, err) // it names the question, as check does
		} else if err := check(q); err != nil {
			report(q.Line, err)
		}
		lines[q.ID] = q.Line
		countKeys(&d.Unknown, q.unknown)
		d.Total++
		if selected {
			d.Selected++
			d.digests = append(d.digests, q.digest)
			for _, t := range q.Tags {
				d.Tags[t]++
			}
		}
	}
	return bad, nil
}

// Questions yields the selected questions in file order. The first error ends the sequence. A line
// that has changed since Open is an error, because the questions must match the dataset's SHA-256.
func (d Dataset) Questions() iter.Seq2[Question, error] {
	if d.memory != nil {
		return fromMemory(d.memory)
	}
	return func(yield func(Question, error) bool) {
		f, err := os.Open(d.Path)
		if err != nil {
			yield(Question{}, fmt.Errorf("open dataset: %w", err))
			return
		}
		defer f.Close()
		n := 0
		for q, err := range readQuestions(f, d.Path) {
			if n == d.Selected {
				return
			}
			n++
			if err == nil && q.digest != d.digests[n-1] {
				err = fmt.Errorf("%s changed during the run, at question %d; "+
					"restore it and resume, or start a new run", d.Path, n)
			}
			if err == nil {
				q.Brain, _, err = d.naming.of(q)
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
		if n < d.Selected {
			yield(Question{}, fmt.Errorf("%s changed during the run: "+
				"it had %d questions and now has %d", d.Path, d.Selected, n))
		}
	}
}

// readQuestions yields the questions of r; name is the file name in errors. A byte order mark, CRLF
// line ends, blank lines and lines that start with # are accepted. A bad line is yielded as a
// *LineError and reading continues. A line longer than maxLine and any other error end the
// sequence. Memory does not grow with the file.
func readQuestions(r io.Reader, name string) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		names := questionKeys()
		for line, err := range readLines(r, name) {
			var q Question
			if err == nil {
				if q, err = parseQuestion(line.text, names); err != nil {
					err = &LineError{File: name, Line: line.number, Err: err}
				}
				q.Line = line.number
				q.digest = maphash.Bytes(digestSeed, line.text)
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

func parseQuestion(line []byte, names *keyNames) (q Question, err error) {
	q.unknown, err = decodeObject(line, names,
		field{key: "id", into: &q.ID},
		field{key: "question", into: &q.Question},
		field{key: "expected_substrings", into: &q.ExpectedSubstrings},
		field{key: "reference_answer", into: &q.ReferenceAnswer},
		field{key: "question_date", into: &q.QuestionDate},
		field{key: "expected_paths", into: &q.ExpectedPaths},
		field{key: "tags", into: &q.Tags},
		field{key: "brain", into: &q.Brain},
	)
	if err != nil {
		return q, err
	}
	switch {
	case q.ID == "":
		return q, errors.New(`"id" is missing; give the question a unique id`)
	case q.Question == "":
		return q, fmt.Errorf(`question %q: "question" is missing or empty`, q.ID)
	}
	for i, tag := range q.Tags {
		if slices.Contains(q.Tags[:i], tag) {
			return q, fmt.Errorf("question %q: tag %q is given twice", q.ID, tag)
		}
	}
	if q.QuestionDate != "" {
		if _, err := parseDate(q.QuestionDate); err != nil {
			return q, fmt.Errorf(`question %q: "question_date": %w`, q.ID, err)
		}
	}
	if q.Brain != "" {
		if err := checkBrain(q.Brain); err != nil {
			return q, fmt.Errorf("question %q: %w", q.ID, err)
		}
	}
	return q, nil
}

// parseDate parses an RFC 3339 time or a YYYY-MM-DD date, which is midnight UTC.
func parseDate(s string) (time.Time, error) {
	// time.Parse also accepts an hour of one digit and a comma, which RFC 3339 does not.
	if t, err := time.Parse(time.RFC3339, s); err == nil && s[13] == ':' && !strings.Contains(s, ",") {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither an RFC 3339 time (2025-03-14T09:00:00Z) "+
		"nor a date (2025-03-14)", s)
}
