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
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/scorer"
)

// TagAbstention marks questions whose right answer is that it is unknown.
const TagAbstention = "abstention"

// MaxQuestions is the maximum number of questions in a run.
const MaxQuestions = 10_000_000

// Question is one line of a dataset (spec 4.4). Line is its number in the file, counted from 1.
type Question struct {
	ID       string
	Question string
	// ExpectedSubstrings are the texts that the exact scorer looks for.
	ExpectedSubstrings []string
	// ReferenceAnswer is the answer that the judge compares with.
	ReferenceAnswer string
	// QuestionDate is when the question is asked, as RFC 3339 or YYYY-MM-DD; empty for none.
	QuestionDate string
	// ExpectedPaths are the paths of the gold documents in the corpus.
	ExpectedPaths []string
	// ExpectedGrades are the grades of expected paths, above 0, 1 if absent.
	ExpectedGrades map[string]float64
	// ExpectedEvidence are texts of the corpus. A returned passage must contain each of them.
	ExpectedEvidence []string
	// Checks are conditions on the answer for the checks scorer.
	Checks []scorer.Check
	Tags   []string
	// Before are the operations before the question, in order.
	Before []Operation
	// Forbidden are texts that the service must not return in any way.
	Forbidden []string
	// MustCite are paths of documents. The answer must cite at least one of them.
	MustCite []string
	// Brain is the question's brain. It is optional in a line; in a Dataset, BrainNaming sets it
	// for every question.
	Brain string
	Line  int
	// Type is the question's type in a benchmark, empty for none. Lines have none.
	Type string
	// JudgeType selects a judge's prompts: one of scorer.Types, or empty.
	JudgeType string
	// Repeat numbers the repeats of the question from 1, if it is asked several times.
	Repeat int

	place   place
	unknown []string // the other keys of the line
}

// Item returns the scorer's view of the question, without an answer.
func (q Question) Item() scorer.Item {
	return scorer.Item{
		ID: q.ID, Question: q.Question, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
		Gold: result.Gold(q.ExpectedPaths, q.ExpectedGrades), Evidence: scorer.EvidenceRanking(make([]int, len(q.ExpectedEvidence))),
		Checks: q.Checks, Type: q.JudgeType, Category: q.Type,
	}
}

// Dataset is a JSONL file of questions checked by Open.
type Dataset struct {
	Path   string
	SHA256 string
	// Total is the number of questions in the file, and Selected the number to be asked.
	Total    int
	Selected int
	// Selection describes the selected questions, nil for all in file order.
	Selection *result.Selection
	// Repeats is how many times each question is asked, 0 for once.
	Repeats int
	// Cluster is the tag that names the clusters of the selected questions, result.NoClusters if
	// requested, and empty if they have none.
	Cluster string
	// Tags counts the selected questions by tag.
	Tags map[string]int
	// Unknown counts the lines with each unknown key. Their values are ignored.
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

// digestSeed is shared by all digests of the process, so that they can be compared.
var digestSeed = maphash.MakeSeed()

// Options configure how Open checks and selects questions.
type Options struct {
	Naming    BrainNaming
	Selection Selection
	// Cluster names the clusters of questions: X for a tag Cluster:X, or the brain for
	// result.ByBrain. Every question passed to Check must have one. If empty, result.ClusterFinder
	// determines it; result.NoClusters means none.
	Cluster string
	// Repeats is how many times each question is asked, 0 for once.
	Repeats int
	// Isolated asks each question in a brain of its own with the documents of its brain.
	Isolated bool
	// Check, if set, rejects questions. It is called in file order for questions that meet the
	// conditions of Selection, even beyond its limit.
	Check func(Question) error
}

// Open reads the whole file once and returns an error for any bad line: broken JSON, a missing or
// wrongly typed field, an unknown field that probably means a missing one, a duplicate id, or a
// question whose brain cannot be determined, that has no cluster or that Options.Check rejects. The
// error lists up to ten lines, each a *LineError. For a file in another format it is a
// *FormatError.
//
// Open also checks the operations before questions: their names, their fields and paths, and that
// their documents and sessions exist.
//
// It is an error if no question has one of the selection's tags or ids, or if no question is
// selected. Memory use is a few bytes per selected question, plus all operations.
func Open(path string, o Options) (Dataset, error) {
	if o.Selection.Limit < 0 || o.Repeats < 0 {
		return Dataset{}, fmt.Errorf("limit %d, repeats %d: they must not be negative",
			o.Selection.Limit, o.Repeats)
	}
	if err := resultfile.Unexpected(path, "a dataset, which has one question a line in JSON"); err != nil {
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

// read checks all questions in r and selects some of them.
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

// checkQuestion checks a question and passes it to s.
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

// Families returns the sorted families of the selected questions with operations or forbidden
// texts: their first tags without a colon.
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

// tagValue returns X of the first tag tag:X, and the number of such tags.
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

// Planned returns the number of questions to ask, including repeats.
func (d Dataset) Planned() int { return d.Selected * max(1, d.Repeats) }

// Questions yields each selected question once, in order. The first error ends the sequence. A line
// that has changed since Open is an error, because the questions must match the dataset's SHA-256.
func (d Dataset) Questions() iter.Seq2[Question, error] {
	if d.memory != nil {
		return fromMemory(d.memory)
	}
	return d.fromFile()
}

// Passes yields all questions of Questions once for each repeat. With repeats, Repeat is set.
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

// readQuestions yields the questions in r; name is the file name for errors. A byte order mark,
// CRLF line ends, blank lines and lines beginning with # are accepted. A bad line is yielded as a
// *LineError and reading continues. A line longer than maxLine or any other error ends the
// sequence. Memory use does not grow with the file.
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

// repeated returns the first text that occurs twice in a list.
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

// parseDate parses an RFC 3339 time or a YYYY-MM-DD date, which means midnight UTC.
func parseDate(s string) (time.Time, error) {
	// time.Parse also accepts a one-digit hour and a comma, unlike RFC 3339.
	if t, err := time.Parse(time.RFC3339, s); err == nil && s[13] == ':' && !strings.Contains(s, ",") {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither an RFC 3339 time (2025-03-14T09:00:00Z) "+
		"nor a date (2025-03-14)", s)
}
