// Package imports makes results of answers that other harnesses stored. Layouts of files are
// recognised by their keys, or described by a mapping of JSON paths (RFC 9535). The questions of
// answers are found in a dataset by id, else by conversation and text.
//
// Nothing is dropped silently: a result lists the answers without a question, the questions without
// an answer, the golds that differ from those of the dataset, and the keys that were not read.
package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/figure"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Spec says which files are imported, and how they are read.
type Spec struct {
	// Files are those of one system. Later ones complete the answers of earlier ones, or have further
	// ones.
	Files []string
	// Format is the layout of all files, empty for the one that each fits.
	Format Format
	// Mapping is the path of a mapping file, empty for the layouts that are recognised.
	Mapping string
	// System chooses the answers of a file that has those of several systems.
	System string
	// JudgeID and ReaderID are what the user says of the judge, with its prompt, and of the model that
	// wrote the answers, empty for nothing.
	JudgeID, ReaderID string
	// Dataset has the questions, nil for those in the files.
	Dataset *source.Benchmark
}

// Import is answers with their questions.
type Import struct {
	ID     result.ImportedID
	Report result.Imported
	// Records are the answers in the order of the dataset, with the verdicts of the other harness.
	Records []result.Record
	Data    dataset.Dataset

	matcher *matcher
	answers map[int]*answer // by question
}

// Read reads the files. Errors name the file, and the place in it.
func Read(s Spec) (*Import, error) {
	im := &Import{answers: map[int]*answer{}, Report: result.Imported{
		MatchedBy: map[string]int{}, Conversations: map[string]string{}, Files: []result.ImportedFile{},
		Unmatched: []result.Unmatched{}, Unanswered: []string{}, GoldDiffers: []result.GoldDiffers{},
	}}
	if s.Dataset != nil {
		im.matcher = newMatcher(s.Dataset.Questions)
		im.ID.OptionSeed = s.Dataset.OptionSeed
		if e := s.Dataset.Errata; e != nil {
			im.ID.Errata = e.SHA256
		}
	}
	var mapped layout
	if s.Mapping != "" {
		var err error
		if mapped, err = readMapping(s.Mapping); err != nil {
			return nil, err
		}
		im.ID.MappingSHA256 = mapped.mappingSHA256
	}
	im.ID.JudgeID, im.ID.Reader = cmp.Or(s.JudgeID, mapped.judgeID), cmp.Or(s.ReaderID, mapped.readerID)
	for _, path := range s.Files {
		c, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if slices.Contains(im.ID.SHA256, c.sha256) {
			return nil, fmt.Errorf("%s has the same content as another of the files: name it once", path)
		}
		l := mapped
		if s.Mapping == "" {
			if l, err = layoutOf(c, s.Format, s.System); err != nil {
				return nil, err
			}
		}
		if err := im.add(c, l); err != nil {
			return nil, err
		}
	}
	if len(im.answers) == 0 {
		return nil, im.nothing()
	}
	return im, im.finish(s.Dataset)
}

// nothing says why no answer has a question.
func (im *Import) nothing() error {
	first := im.Report.Unmatched[0]
	return fmt.Errorf("none of %s is to a question of the dataset; the first, at %s in %s: %s; is it the dataset of these answers?",
		figure.Count(im.Report.Answers, "answer"), first.Place, first.Path, first.Reason)
}

// add adds the answers of a file.
func (im *Import) add(c *content, l layout) error {
	answers, file, err := answersOf(c, l)
	if err != nil {
		return err
	}
	im.Report.Files = append(im.Report.Files, file)
	im.Report.Answers += len(answers)
	im.ID.SHA256 = append(im.ID.SHA256, c.sha256)
	if name := string(l.name); !slices.Contains(im.ID.Formats, name) {
		im.ID.Formats = append(im.ID.Formats, name)
		slices.Sort(im.ID.Formats)
	}
	if im.matcher == nil {
		if im.matcher, err = ownQuestions(c.path, answers); err != nil {
			return err
		}
	}
	im.matcher.conversationsOf(answers)
	taken := map[int]bool{}
	for _, a := range answers {
		i, how, why := im.matcher.find(a, func(i int) bool { return taken[i] })
		if i < 0 {
			im.Report.Unmatched = append(im.Report.Unmatched, a.unmatched(why))
			continue
		}
		taken[i] = true
		if q := im.matcher.questions[i]; excluded(q) {
			im.Report.Unmatched = append(im.Report.Unmatched, a.unmatched(fmt.Sprintf("the errata exclude the question %q", q.ID)))
			continue
		}
		im.Report.MatchedBy[how]++
		im.goldDiffers(i, a)
		if earlier := im.answers[i]; earlier == nil {
			im.answers[i] = &a
		} else if err := earlier.complete(a); err != nil {
			return fmt.Errorf("question %q: %w", im.matcher.questions[i].ID, err)
		}
	}
	return nil
}

// ownQuestions returns the questions in a file that is imported without a dataset.
func ownQuestions(path string, answers []answer) (*matcher, error) {
	var questions []source.Question
	next, used := map[string]int{}, map[string]bool{}
	for _, a := range answers {
		if a.question == "" {
			return nil, fmt.Errorf("%s: the answer at %s has no question; name the dataset that has it with --dataset", path, a.place)
		}
		id := a.id
		if id == "" {
			id = fmt.Sprintf("%s-q%03d", a.conversation, next[a.conversation])
			id = strings.TrimPrefix(id, "-")
		}
		next[a.conversation]++
		if used[id] {
			continue // which is listed as the second answer to it
		}
		used[id] = true
		questions = append(questions, source.Question{
			ID: id, Text: a.question, Answer: a.gold, Haystack: a.conversation, Type: a.kind, Line: len(questions) + 1,
		})
	}
	return newMatcher(questions), nil
}

// goldDiffers lists the gold of an answer if the dataset has another one.
func (im *Import) goldDiffers(i int, a answer) {
	q := im.matcher.questions[i]
	if a.gold != "" && fold(a.gold) != fold(q.Answer) {
		im.Report.GoldDiffers = append(im.Report.GoldDiffers, result.GoldDiffers{
			ID: q.ID, Place: a.place, InFile: a.gold, Dataset: q.Answer,
		})
	}
}

// complete adds what another file has of the same answer.
func (a *answer) complete(other answer) error {
	if fold(a.text) != fold(other.text) {
		return fmt.Errorf("%s at %s and %s at %s have different answers to it; import the files as results of their own",
			a.path, a.place, other.path, other.place)
	}
	if a.verdict.known && other.verdict.known && a.verdict.score != other.verdict.score {
		return fmt.Errorf("%s at %s and %s at %s have different verdicts on it; import the files as results of their own",
			a.path, a.place, other.path, other.place)
	}
	if !a.verdict.known {
		a.verdict = other.verdict
	}
	if a.latencyMS == 0 {
		a.latencyMS = other.latencyMS
	}
	if !a.tokens {
		a.input, a.output, a.tokens = other.input, other.output, other.tokens
	}
	a.by.model, a.by.prompt = cmp.Or(a.by.model, other.by.model), cmp.Or(a.by.prompt, other.by.prompt)
	a.by.benchmark = cmp.Or(a.by.benchmark, other.by.benchmark)
	a.reason, a.kind, a.model = cmp.Or(a.reason, other.reason), cmp.Or(a.kind, other.kind), cmp.Or(a.model, other.model)
	return nil
}

// excluded reports whether errata exclude a question.
func excluded(q source.Question) bool { return q.Erratum != nil && q.Erratum.Exclude }

// finish makes the records of the answers.
func (im *Import) finish(b *source.Benchmark) (err error) {
	var asked []dataset.Question
	for i, q := range im.matcher.questions {
		a := im.answers[i]
		if a == nil && excluded(q) {
			continue
		}
		if a == nil {
			im.Report.Unanswered = append(im.Report.Unanswered, q.ID)
			continue
		}
		d := im.question(q, *a, b != nil)
		asked = append(asked, d)
		im.Records = append(im.Records, a.record(d))
	}
	for name, haystack := range im.matcher.conversations {
		if haystack != "" && name != haystack {
			im.Report.Conversations[name] = haystack
		}
	}
	im.judges()
	path, sum := im.Report.Files[0].Path, im.Report.Files[0].SHA256
	if b != nil {
		path, sum = b.Path, b.SHA256
	}
	if im.Data, err = dataset.FromQuestions(path, sum, asked); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Brain is the name of the memory that gave the answers, of which nothing else is known.
const Brain = "imported"

// question returns a question as a run asks it. Its documents are left out, because it is not known
// what was retrieved.
func (im *Import) question(q source.Question, a answer, known bool) dataset.Question {
	d := q.Dataset()
	if !known {
		d.Type, d.JudgeType, d.Tags = "", "", nil
		if a.kind != "" {
			d.Type, d.Tags = a.kind, []string{"type:" + a.kind}
		}
	}
	if conversation := q.Haystack; conversation != "" && conversation != q.ID {
		d.Tags = append(d.Tags, "conv:"+conversation)
	}
	d.ExpectedPaths, d.Brain = nil, Brain
	return d
}

// record returns the record of an answer.
func (a answer) record(q dataset.Question) result.Record {
	given := target.Answer{
		Text: a.text, Model: a.model, Attempts: 1, Untimed: a.latencyMS == 0,
		Latency: time.Duration(a.latencyMS * float64(time.Millisecond)),
	}
	if a.tokens {
		given.Usage = &protocol.Usage{InputTokens: a.input, OutputTokens: a.output}
	}
	v := scorer.Verdict{Scored: a.verdict.known, Score: a.verdict.score, Reason: a.verdict.why(a.reason)}
	switch {
	case a.verdict.known:
	case a.verdict.votes > 0:
		v.Reason = "a tie: " + v.Reason
	default:
		v.Reason = "the files have no verdict on it"
	}
	return pipeline.NewRecord(q, given, nil).Graded(v)
}
