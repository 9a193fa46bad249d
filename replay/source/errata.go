package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/dataset"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonobj"
	"evalctl/internal/jsonstream"
	"evalctl/internal/spelling"
	"evalctl/scorer"
)

// Errata are known errors in a benchmark's gold. The file has one JSON object per erratum, on a
// line or in an array, with the keys id, action, answer, gold and reason or the keys of the LoCoMo
// audit.
type Errata struct {
	Path   string
	SHA256 string
	// IDs are the affected questions in benchmark order.
	IDs       []string
	Excluded  int
	Corrected int

	byID map[string]*correction
}

// Erratum is an error in one question's gold.
type Erratum struct {
	// Exclude is set if the question cannot be scored. Otherwise the answer, the gold documents or
	// both are corrected, and the question has the corrected values.
	Exclude bool
	Reason  string
	Line    int // in the file of errata, counted from 1
	// OriginalAnswer, OriginalExpected and OriginalGold are the values in the benchmark file. A
	// corrected answer also replaces expected substrings.
	OriginalAnswer   string
	OriginalExpected []string
	OriginalGold     []string
	OriginalEvidence []string
	OriginalChecks   []scorer.Check
}

// correction is an erratum as written in its file.
type correction struct {
	Erratum
	answer *string
	gold   *[]string // ids of the benchmark file
	// question is the text that the question must have, empty for any.
	question string
}

// maxErrata limits the size of an errata file in bytes.
const maxErrata = 64 << 20

// loadErrata reads an errata file. Errors name the file and the line.
func loadErrata(path string) (*Errata, error) {
	data, err := readErrata(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	e := &Errata{Path: path, SHA256: hex.EncodeToString(sum[:]), byID: map[string]*correction{}}
	text := inputfile.Text(data)
	var bad []error
	read := func(line int, object []byte) {
		if err := e.add(line, object); err != nil {
			bad = append(bad, &dataset.LineError{File: path, Line: line, Err: err})
		}
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		err = eachElement(text, read)
	} else {
		eachLine(text, read)
	}
	switch {
	case len(bad) > 0:
		return nil, dataset.JoinLines(bad)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(e.byID) == 0:
		return nil, fmt.Errorf("%s: no errata; each is a JSON object such as "+
			`{"id": "q1", "action": "exclude", "reason": "two answers are right"}`, path)
	}
	return e, nil
}

func readErrata(path string) ([]byte, error) {
	if err := resultfile.Unexpected(path, "errata, which are JSON objects with id and action"); err != nil {
		return nil, err
	}
	data, err := inputfile.Read(path, maxErrata)
	if errors.Is(err, inputfile.ErrTooLarge) {
		return nil, fmt.Errorf("%s is larger than %d MiB; is it a file of errata?", path, maxErrata>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("open errata: %w", err)
	}
	return data, nil
}

// eachLine calls read for every line that is neither blank nor a comment.
func eachLine(text []byte, read func(line int, object []byte)) {
	line := 0
	for l := range bytes.SplitSeq(text, []byte("\n")) {
		line++
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != '#' {
			read(line, l)
		}
	}
}

// eachElement calls read for every array element, with the line it begins on.
func eachElement(text []byte, read func(line int, object []byte)) error {
	r := jsonstream.New(bytes.NewReader(text), 0)
	err := r.Elements(func() error {
		line := 1 + bytes.Count(text[:r.Offset()], []byte("\n"))
		object, err := r.Value()
		if err == nil {
			read(line, object)
		}
		return err
	})
	if err == nil {
		err = (&walker{r: r}).end()
	}
	return err
}

// add adds the erratum of an object.
func (e *Errata) add(line int, object []byte) error {
	if !utf8.Valid(object) {
		return errors.New("the text is not valid UTF-8; save the file as UTF-8")
	}
	members, err := jsonobj.Parse(object)
	if err != nil {
		return fmt.Errorf("it must be a JSON object with id and action: %w", err)
	}
	if slices.ContainsFunc(members, func(m jsonobj.Member) bool { return string(m.Key) == "error_type" }) {
		return e.addAudit(line, object)
	}
	var id, action string
	out := correction{Erratum: Erratum{Line: line}}
	seen := map[string]bool{}
	for _, m := range members {
		key := string(m.Key)
		if seen[key] {
			return fmt.Errorf("the key %q is given twice", key)
		}
		seen[key] = true
		switch key {
		case "id":
			id, err = stringOf(key, m.Value)
		case "action":
			action, err = stringOf(key, m.Value)
		case "reason":
			out.Reason, err = stringOf(key, m.Value)
		case "answer":
			var s string
			s, err = stringOf(key, m.Value)
			out.answer = &s
		case "gold":
			out.gold, err = stringsOf(key, m.Value)
		default:
			known := []string{"id", "action", "answer", "gold", "reason"}
			err = fmt.Errorf("the key %.40q is not known; known are %s", key, strings.Join(known, ", "))
			if near := spelling.Nearest(key, known); near != "" {
				err = fmt.Errorf("%w; did you mean %q?", err, near)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := out.check(id, action); err != nil {
		return err
	}
	return e.put(id, &out)
}

// put stores the correction of a question.
func (e *Errata) put(id string, c *correction) error {
	if first := e.byID[id]; first != nil {
		return fmt.Errorf("question %q already has an erratum on line %d", id, first.Line)
	}
	e.byID[id] = c
	return nil
}

// check checks the consistency of a correction and sets its action.
func (e *correction) check(id, action string) error {
	corrects := e.answer != nil || e.gold != nil
	switch {
	case strings.TrimSpace(id) == "":
		return errors.New("the erratum has no id; give the id of a question")
	case action != "exclude" && action != "correct":
		return fmt.Errorf("question %q: the action is %q and must be exclude or correct", id, action)
	case action == "exclude" && corrects:
		return fmt.Errorf("question %q is excluded and has an answer or gold; "+
			"remove them, or make the action correct", id)
	case action == "correct" && !corrects:
		return fmt.Errorf("question %q is corrected and has neither answer nor gold", id)
	case e.answer != nil && strings.TrimSpace(*e.answer) == "":
		return fmt.Errorf("question %q is corrected with an empty answer; "+
			"exclude it if it has none", id)
	}
	e.Exclude = action == "exclude"
	return nil
}

func stringOf(key string, value json.RawMessage) (string, error) {
	s, ok := jsonobj.String(value)
	if !ok {
		return "", fmt.Errorf("%s must be a string, not %s", key, kindOf(value))
	}
	return s, nil
}

func stringsOf(key string, value json.RawMessage) (*[]string, error) {
	if value[0] != '[' {
		return nil, fmt.Errorf("%s must be an array of strings, not %s", key, kindOf(value))
	}
	list := []string{}
	for element := range jsonobj.Elements(value) {
		s, err := stringOf("an element of "+key, element)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return &list, nil
}

// apply corrects a question that has an erratum. resolve returns the documents for a source id,
// none if the haystack lacks it; texts, if not nil, returns its evidence.
func (e *Errata) apply(q *Question, resolve, texts func(id string) []string) error {
	if e == nil || e.byID[q.ID] == nil {
		return nil
	}
	x := e.byID[q.ID]
	if x.question != "" && strings.TrimSpace(x.question) != strings.TrimSpace(q.Text) {
		return &dataset.LineError{File: e.Path, Line: x.Line, Err: fmt.Errorf(
			"question %q reads %.80q in the errata and %.80q in the benchmark: the errata belong to another file", q.ID, x.question, q.Text)}
	}
	x.OriginalAnswer, x.OriginalGold, x.OriginalExpected = q.Answer, q.Gold, q.ExpectedSubstrings
	x.OriginalEvidence, x.OriginalChecks = q.Evidence, q.Checks
	q.Erratum = &x.Erratum
	e.IDs = append(e.IDs, q.ID)
	if x.Exclude {
		e.Excluded++
		return nil
	}
	e.Corrected++
	fail := func(format string, args ...any) error {
		err := fmt.Errorf("question %q: "+format, append([]any{q.ID}, args...)...)
		return &dataset.LineError{File: e.Path, Line: x.Line, Err: err}
	}
	if x.answer != nil {
		if q.Abstention {
			return fail("the haystack is known not to have the answer, " +
				"so the answer cannot be corrected; exclude the question")
		}
		q.Answer, q.ExpectedSubstrings = strings.TrimSpace(*x.answer), nil
		if err := q.correctChecks(); err != nil {
			return fail("%w", err)
		}
	}
	if x.gold == nil {
		return nil
	}
	q.Gold, q.Evidence = nil, nil
	for _, id := range *x.gold {
		if texts != nil {
			for _, text := range texts(id) {
				q.addEvidence(text)
			}
		}
		paths := resolve(id)
		if len(paths) == 0 {
			return fail("the gold %.60q is not in its haystack", id)
		}
		for _, p := range paths {
			if !slices.Contains(q.Gold, p) {
				q.Gold = append(q.Gold, p)
			}
		}
	}
	return nil
}

// unused returns an error for errata about questions that the benchmark lacks.
func (e *Errata) unused(benchmark string) error {
	var bad []error
	for _, id := range slices.Sorted(maps.Keys(e.byID)) {
		if !slices.Contains(e.IDs, id) {
			bad = append(bad, &dataset.LineError{File: e.Path, Line: e.byID[id].Line, Err: fmt.Errorf(
				"%s has no question %.60q", benchmark, id)})
		}
	}
	return dataset.JoinErrors(bad, "errata of unknown questions")
}
