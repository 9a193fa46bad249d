package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
	"evalctl/scorer"
)

// TagAbstention is the tag of questions whose right answer is that it is not known.
const TagAbstention = "abstention"

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
	// ExpectedGrades are the grades of expected paths, above 0. One without a grade has 1.
	ExpectedGrades map[string]float64
	// ExpectedEvidence are texts of the corpus, each of which a returned passage must have.
	ExpectedEvidence []string
	// Checks are conditions on the answer, which the checks scorer applies.
	Checks []scorer.Check
	Tags   []string
	// Before is what happens, in order, before the question is asked.
	Before []Operation
	// Forbidden are texts that must not come back, wherever the service could return them.
	Forbidden []string
	// MustCite are paths of documents, one of which the answer must cite.
	MustCite []string
	// Brain is the brain in which the question is asked. A line need not name one; the questions of
	// a Dataset all have one, by its BrainNaming.
	Brain string
	Line  int
	// Type is the question's type in a benchmark, empty for none. A line has none.
	Type string
	// JudgeType is how a judge with several prompts judges an answer: one of scorer.Types, or empty.
	JudgeType string
	// Repeat counts the times that the question is asked, from 1, if it is asked several times.
	Repeat int

	place   place
	unknown []string // the other keys of the line
}

// Item returns the parts of the question that a scorer sees, without an answer.
func (q Question) Item() scorer.Item {
	return scorer.Item{
		ID: q.ID, Question: q.Question, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		Gold: result.Gold(q.ExpectedPaths, q.ExpectedGrades), Evidence: scorer.EvidenceRanking(make([]int, len(q.ExpectedEvidence))),
		Checks: q.Checks, Type: q.JudgeType, Category: q.Type,
	}
}

// Dataset is a JSONL file of questions that Open has found usable.
type Dataset struct {
	Path   string
	SHA256 string
	// Total is the number of questions in the file, Selected the number of those that are asked.
	Total    int
	Selected int
	// Selection says which questions are selected, nil for all of them in the order of the file.
	Selection *result.Selection
	// Repeats is how often each selected question is asked, 0 for once.
	Repeats int
	// Cluster is the tag that names the clusters of the selected questions, result.NoClusters if that
	// was asked for, and empty if they have none.
	Cluster string
	// Tags has the number of selected questions by tag.
	Tags map[string]int
	// Unknown has the number of lines by key, for keys that a question does not have. Their values
	// are ignored.
	Unknown map[string]int

	naming   BrainNaming
	brains   map[string]*brainQuestions // of all questions, by name
	places   []place                    // of the selected questions, in order
	shuffled bool
	clusters result.ClusterFinder
	families map[string]bool // see Families
	// lifecycle is nil for a dataset without a file.
	lifecycle *lifecycle
	memory    []Question // the questions of a dataset without a file to read again
}

// digestSeed is the same for all digests of one process, so that they can be compared.
var digestSeed = maphash.MakeSeed()

// Options say how Open checks questions and which of them it selects.
type Options struct {
	Naming    BrainNaming
	Selection Selection
	// Cluster, if set, is a tag that names the cluster of a question: X if it has the tag Cluster:X, or
	// its brain for result.ByBrain. Each question that Check is called for must have one. Empty is what
	// result.ClusterFinder finds, result.NoClusters none.
	Cluster string
	// Repeats is how often each question is asked, 0 for once.
	Repeats int
	// Isolated asks each question in a brain of its own, which has the documents of its brain.
	Isolated bool
	// Check, if set, rejects questions. It is called for those that meet the conditions of Selection,
	// also beyond its limit, in the order of the file.
	Check func(Question) error
}

// Open reads the whole file once and returns an error if any line is bad: broken JSON, a missing or
// wrongly typed field, an unknown one that probably means a missing one, a duplicate id, a question
// whose brain cannot be determined, or one without the cluster or rejected by the check that
// Options name. The error lists up to ten lines, each a *LineError. For a file in another format it
// is a *FormatError.
//
// What happens before questions is checked as well: an unknown operation, a field that it does not
// have, a path that is invalid, a document or session that was never there.
//
// It is also an error if the file has no question with a tag or id of the selection, or if no
// question is selected. Memory is a few bytes for each selected question, and all operations.
func Open(path string, o Options) (Dataset, error) {
	if o.Selection.Limit < 0 || o.Repeats < 0 {
		return Dataset{}, fmt.Errorf("limit %d, repeats %d: they must not be negative",
			o.Selection.Limit, o.Repeats)
	}
	if err := result.Unexpected(path, "a dataset, which has one question a line in JSON"); err != nil {
		return Dataset{}, err
	}
	f, err := inputfile.OpenStream(path, inputfile.Streamed)
	if err != nil {
		return Dataset{}, fmt.Errorf("open dataset: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	d := Dataset{
		Path: path, Tags: map[string]int{},
		naming: o.Naming, brains: map[string]*brainQuestions{}, lifecycle: newLifecycle(o.Isolated),
	}
	if o.Repeats > 1 {
		d.Repeats = o.Repeats
	}
	head, text := readHead(f)
	if err := checkFormat(path, convertedName(path), head); err != nil {
		return Dataset{}, err
	}
	if err := d.read(io.TeeReader(text, sum), o); err != nil {
		return Dataset{}, err
	}
	d.Cluster = cmp.Or(o.Cluster, d.clusters.Tag())
	if d.Planned() > MaxQuestions {
		return Dataset{}, fmt.Errorf("%s: %d questions are more than one run may have (%d); "+
			"split the file, select fewer or repeat them less often", path, d.Planned(), MaxQuestions)
	}
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// read checks all questions of r, selects some of them and adds those up.
func (d *Dataset) read(r io.Reader, o Options) error {
	var bad []error
	lines := make(map[string]int)
	s, whole := newSelector(o.Selection), o.Selection.whole()
	for q, err := range readQuestions(r, d.Path) {
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				return err
			}
			bad = append(bad, err)
			continue
		}
		if err := d.checkQuestion(q, o, s, lines); err != nil {
			bad = append(bad, &LineError{File: d.Path, Line: q.Line, Err: err}) // it names the question
		} else if whole {
			d.add(q)
		}
		lines[q.ID] = q.Line
		countKeys(&d.Unknown, q.unknown)
		d.Total++
	}
	switch {
	case len(bad) > 0:
		return JoinLines(bad)
	case d.Total == 0:
		return fmt.Errorf("%s: no questions; a dataset has one JSON object per line", d.Path)
	}
	d.addChanging()
	if err := s.choose(d, lines); err != nil || whole {
		return err
	}
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		d.add(q)
	}
	return nil
}

// checkQuestion checks a question and hands it to s.
func (d *Dataset) checkQuestion(q Question, o Options, s *selector, lines map[string]int) error {
	if first, ok := lines[q.ID]; ok {
		return fmt.Errorf("id %q is already used on line %d; ids must be unique", q.ID, first)
	}
	if err := d.assign(q); err != nil {
		return err
	}
	brain, _, _ := d.naming.of(q) // assign has returned the error
	if err := d.lifecycle.add(q, brain); err != nil {
		return err
	}
	if !s.add(q) {
		return nil
	}
	if o.Cluster != "" && o.Cluster != result.NoClusters && (o.Cluster != result.ByBrain || q.Brain == "" && d.naming.Tag == "") {
		if _, n := tagValue(q.Tags, o.Cluster); n != 1 {
			return fmt.Errorf("question %q has %d tags that begin with %s: and needs exactly 1, "+
				"which names its cluster", q.ID, n, o.Cluster)
		}
	}
	if o.Check == nil {
		return nil
	}
	return o.Check(q)
}

// Families returns the families of the selected questions that are about time: of those with
// operations before them or with forbidden texts, the first tag without a colon. They are in order.
func (d Dataset) Families() []string { return slices.Sorted(maps.Keys(d.families)) }

// add counts a selected question.
func (d *Dataset) add(q Question) {
	if i := slices.IndexFunc(q.Tags, func(t string) bool { return !strings.Contains(t, ":") }); i >= 0 && len(q.Before)+len(q.Forbidden) > 0 {
		if d.families == nil {
			d.families = map[string]bool{}
		}
		d.families[q.Tags[i]] = true
	}
	for _, t := range q.Tags {
		d.Tags[t]++
	}
	d.addToBrain(q)
	name, _, _ := d.naming.of(q) // assign has returned the error
	d.clusters.Add(q.Tags, name)
}

// tagValue returns X of the first tag tag:X, and how many such tags there are.
func tagValue(tags []string, tag string) (x string, n int) {
	for _, t := range tags {
		if rest, ok := strings.CutPrefix(t, tag+":"); ok {
			if n++; n == 1 {
				x = rest
			}
		}
	}
	return x, n
}

// Planned returns how many times questions are asked, repeats included.
func (d Dataset) Planned() int { return d.Selected * max(1, d.Repeats) }

// Questions yields the selected questions, in order, each once. The first error ends the sequence.
// A line that has changed since Open is an error, because the questions must match the dataset's
// SHA-256.
func (d Dataset) Questions() iter.Seq2[Question, error] {
	if d.memory != nil {
		return fromMemory(d.memory)
	}
	return d.fromFile()
}

// Passes yields what Questions does as often as each question is asked: all questions once, then
// all of them again. If they are asked several times, Repeat is set.
func (d Dataset) Passes() iter.Seq2[Question, error] {
	if d.Repeats <= 1 {
		return d.Questions()
	}
	return func(yield func(Question, error) bool) {
		for pass := range d.Repeats {
			for q, err := range d.Questions() {
				q.Repeat = pass + 1
				if !yield(q, err) || err != nil {
					return
				}
			}
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
				q.place = place{
					at: line.at, size: int32(len(line.text)), line: int32(line.number),
					digest: maphash.Bytes(digestSeed, line.text),
				}
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

func parseQuestion(line []byte, names *keyNames) (q Question, err error) {
	var checks, before json.RawMessage
	var asOf string
	q.unknown, err = decodeObject(line, names,
		field{key: "id", into: &q.ID},
		field{key: "question", into: &q.Question},
		field{key: "expected_substrings", into: &q.ExpectedSubstrings},
		field{key: "reference_answer", into: &q.ReferenceAnswer},
		field{key: "question_date", into: &q.QuestionDate},
		field{key: "expected_paths", into: &q.ExpectedPaths},
		field{key: "expected_grades", into: &q.ExpectedGrades},
		field{key: "expected_evidence", into: &q.ExpectedEvidence},
		field{key: "checks", into: &checks},
		field{key: "tags", into: &q.Tags},
		field{key: "brain", into: &q.Brain},
		field{key: "before", into: &before},
		field{key: "forbidden", into: &q.Forbidden},
		field{key: "must_cite", into: &q.MustCite},
		field{key: "as_of", into: &asOf},
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
	if q.Checks, err = parseChecks(checks); err == nil {
		q.Before, err = parseOperations(before)
	}
	if err == nil {
		q.QuestionDate, err = parseAsOf(asOf, q.QuestionDate)
	}
	if err == nil {
		err = q.checkForbidden()
	}
	if err == nil {
		err = q.checkEvidence()
	}
	if err == nil {
		err = q.checkGrades()
	}
	if err != nil {
		return q, fmt.Errorf("question %q: %w", q.ID, err)
	}
	if n := clusterTags(q.Tags); n > result.MaxClusterTags {
		return q, fmt.Errorf("question %q: %d tags have a colon, so that each may name a cluster; the limit is %d", q.ID, n, result.MaxClusterTags)
	}
	if tag, twice := repeated(q.Tags); twice {
		return q, fmt.Errorf("question %q: tag %q is given twice", q.ID, tag)
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

// clusterTags counts the tags that may name a cluster.
func clusterTags(tags []string) (n int) {
	for _, tag := range tags {
		if strings.Contains(tag, ":") {
			n++
		}
	}
	return n
}

// repeated returns the first text of a list that is in it twice.
func repeated(list []string) (text string, twice bool) {
	if len(list) < 2 {
		return "", false
	}
	seen := make(map[string]bool, len(list))
	for _, text := range list {
		if seen[text] {
			return text, true
		}
		seen[text] = true
	}
	return "", false
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
