// Package imports makes results from answers stored by other harnesses. File layouts are recognised
// by their keys or described by a mapping of JSON paths (RFC 9535). Questions are matched with a
// dataset by id, else by conversation and text.
//
// Nothing is dropped silently: a result lists the answers without a question, the questions without
// an answer, gold that differs from the dataset's, and unread keys.
package imports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/figure"
	"evalctl/internal/redact"
	"evalctl/replay/source"
)

// Spec says which files to import, and how to read them.
type Spec struct {
	// Files are the files of one system. Later files complete answers of earlier ones or add
	// further answers.
	Files []string
	// Format is the layout of all files, detected for each file if empty.
	Format Format
	// Mapping is the path of a mapping file, empty to detect layouts.
	Mapping string
	// System selects a system in files with answers of several.
	System string
	// JudgeID describes the judge with its prompt, and ReaderID the model that wrote the answers,
	// as given by the user; empty if not given.
	JudgeID, ReaderID string
	// TopK is how many of an answer's listed documents count, 0 for DefaultTopK.
	TopK int
	// Dataset has the questions, nil to take them from the files.
	Dataset *source.Benchmark
	// Secrets are redacted in the answers.
	Secrets []redact.Secret
}

// DefaultTopK is how many retrieved documents of an answer count: as many as replay asks for.
// Some files rank the whole haystack, in which every gold is found.
const DefaultTopK = 10

// Import holds imported answers with their questions.
type Import struct {
	ID     result.ImportedID
	Report result.ImportSource
	// Records are the answers in dataset order, with the other harness's verdicts.
	Records []result.Record
	Data    dataset.Dataset
	// TopK is how many documents of an answer count, 0 if none are listed. Listed is the largest
	// number of them, and Warnings say where recall cannot fail.
	TopK, Listed int
	Warnings     []result.Warning

	secrets []redact.Secret
	matcher *matcher
	answers map[askedID]*answer
	// repeats is how many times the files answer each question.
	repeats int
	judged  bool // whether any answer has a verdict
}

// askedID is a question's index and the repeat, from 1.
type askedID struct{ question, repeat int }

// Read reads the files. Errors name the file and the place in it.
func Read(s Spec) (*Import, error) {
	im := &Import{secrets: s.Secrets, answers: map[askedID]*answer{}, Report: result.ImportSource{
		MatchedBy: map[string]int{}, Conversations: map[string]string{}, Files: []result.ImportedFile{},
		Unmatched: []result.UnmatchedAnswer{}, Unanswered: []string{}, GoldDiffers: []result.GoldDiffers{},
	}}
	if s.Dataset != nil {
		im.matcher = newMatcher(s.Dataset.Questions)
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
	files, err := readAll(s, mapped)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		im.ID.SHA256 = append(im.ID.SHA256, f.sha256)
		if name := string(f.layout.name); !slices.Contains(im.ID.Formats, name) {
			im.ID.Formats = append(im.ID.Formats, name)
			slices.Sort(im.ID.Formats)
		}
	}
	if err := im.match(files); err != nil {
		return nil, err
	}
	if len(im.answers) == 0 {
		return nil, im.nothing()
	}
	im.ID.VoteRule = voteRule(files, files[0].layout.votes)
	for _, f := range files {
		im.Report.Stated = append(im.Report.Stated, count(f.totals, f.answers, im.ID.VoteRule)...)
		f.report.Judged, f.report.Passed = verdictsOf(f.answers, im.ID.VoteRule)
		for _, s := range f.totals {
			delete(f.report.LeftOut, s.Place) // it was read
		}
		im.Report.Files = append(im.Report.Files, f.report)
	}
	return im, im.finish(s)
}

// verdictsOf counts the answers with a verdict, and the passed ones.
func verdictsOf(answers []answer, rule result.VoteRule) (judged, passed int) {
	for i := range answers {
		if v := answers[i].verdict(rule); v.Scored {
			judged++
			if v.Passed() {
				passed++
			}
		}
	}
	return judged, passed
}

// readAll reads the answers of all files.
func readAll(s Spec, mapped layout) ([]fileAnswers, error) {
	var files []fileAnswers
	for _, path := range s.Files {
		c, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(files, func(f fileAnswers) bool { return f.sha256 == c.sha256 }) {
			return nil, fmt.Errorf("%s has the same content as another of the files: name it once", path)
		}
		f := fileAnswers{content: c, layout: mapped}
		if s.Mapping == "" {
			if f.layout, err = layoutOf(c, s.Format, s.System); err != nil {
				return nil, err
			}
		}
		if !f.layout.part { // otherwise the totals are of all systems
			f.totals = statedIn(c)
		}
		if f.answers, f.report, err = answersOf(c, f.layout); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if s.Mapping == "" {
		return shareQuestions(files)
	}
	return files, checkMapped(s.Mapping, mapped, files)
}

// nothing says why no answer matches a question.
func (im *Import) nothing() error {
	first := im.Report.Unmatched[0]
	return fmt.Errorf("none of %s is to a question of the dataset; the first, at %s in %s: %s; is it the dataset of these answers?",
		figure.Count(im.Report.Answers, "answer"), first.Place, first.Path, first.Reason)
}

// match matches all answers with questions.
func (im *Import) match(files []fileAnswers) (err error) {
	im.repeats = 0
	for _, f := range files {
		if len(f.answers) == 0 {
			continue // it has questions only
		}
		repeats, err := number(f)
		if err != nil {
			return err
		}
		if im.repeats == 0 {
			im.repeats = repeats
		}
		if repeats != im.repeats {
			im.repeats = 1
		}
	}
	if im.matcher == nil {
		if im.matcher, err = ownQuestions(files, im.repeats); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := im.add(f.answers); err != nil {
			return err
		}
	}
	return nil
}

// add matches a file's answers with questions.
func (im *Import) add(answers []answer) error {
	im.Report.Answers += len(answers)
	im.matcher.conversationsOf(answers)
	im.matcher.alikeIn(answers)
	taken := map[askedID]bool{}
	for _, a := range answers {
		repeat := 1
		if im.repeats > 1 {
			repeat = a.occurrence
		}
		i, how, why := im.matcher.find(a, func(i int) bool { return taken[askedID{i, repeat}] })
		if i < 0 {
			im.Report.Unmatched = append(im.Report.Unmatched, a.unmatched(why))
			continue
		}
		if a.numbered {
			how = byText
		}
		at := askedID{i, repeat}
		taken[at] = true
		im.Report.MatchedBy[how]++
		im.goldDiffers(i, a)
		if earlier := im.answers[at]; earlier == nil {
			im.answers[at] = &a
		} else if err := earlier.complete(a); err != nil {
			return fmt.Errorf("question %q: %w", im.matcher.questions[i].ID, err)
		}
	}
	return nil
}

// goldDiffers lists an answer's gold if the dataset's differs.
func (im *Import) goldDiffers(i int, a answer) {
	q := im.matcher.questions[i]
	if a.gold != "" && fold(a.gold) != fold(q.Answer) {
		im.Report.GoldDiffers = append(im.Report.GoldDiffers, result.GoldDiffers{
			ID: q.ID, Place: a.place, InFile: a.gold, Dataset: q.Answer,
		})
	}
}

// complete adds fields that another file has for the same answer.
func (a *answer) complete(other answer) error {
	if a.answered && other.answered && fold(a.text) != fold(other.text) {
		return fmt.Errorf("%s at %s and %s at %s have different answers to it; import the files as results of their own",
			a.path, a.place, other.path, other.place)
	}
	if len(a.votes) > 0 && len(other.votes) > 0 && !slices.Equal(a.votes, other.votes) {
		return fmt.Errorf("%s at %s and %s at %s have different verdicts on it; import the files as results of their own",
			a.path, a.place, other.path, other.place)
	}
	if !a.answered {
		a.text, a.answered = other.text, other.answered
	}
	if len(a.retrieved) == 0 {
		a.retrieved = other.retrieved
	}
	if len(a.votes) == 0 {
		a.votes = other.votes
	}
	if a.latencyMS == 0 {
		a.latencyMS = other.latencyMS
	}
	if !a.tokens {
		a.input, a.output, a.tokens = other.input, other.output, other.tokens
	}
	a.cost = cmp.Or(a.cost, other.cost)
	a.judge.model, a.judge.prompt = cmp.Or(a.judge.model, other.judge.model), cmp.Or(a.judge.prompt, other.judge.prompt)
	a.judge.benchmark = cmp.Or(a.judge.benchmark, other.judge.benchmark)
	a.reason, a.kind = cmp.Or(a.reason, other.reason), cmp.Or(a.kind, other.kind)
	a.model, a.fileModel = cmp.Or(a.model, other.model), cmp.Or(a.fileModel, other.fileModel)
	a.failure = cmp.Or(a.failure, other.failure)
	return nil
}

// leaveOut lists the answers to a question excluded by errata.
func (im *Import) leaveOut(i int) {
	for repeat := 1; repeat <= im.repeats; repeat++ {
		if a := im.answers[askedID{i, repeat}]; a != nil {
			reason := fmt.Sprintf("the errata exclude the question %q", im.matcher.questions[i].ID)
			im.Report.Unmatched = append(im.Report.Unmatched, a.unmatched(reason))
		}
	}
}

// excluded reports whether errata exclude a question.
func excluded(q source.Question) bool { return q.Erratum != nil && q.Erratum.Exclude }

// finish creates the records of the answers.
func (im *Import) finish(s Spec) (err error) {
	var questions []dataset.Question
	b := s.Dataset
	found := &ranking{benchmark: b}
	for _, a := range im.answers {
		im.Listed, im.judged = max(im.Listed, len(a.retrieved)), im.judged || len(a.votes) > 0
	}
	im.TopK = min(im.Listed, cmp.Or(s.TopK, DefaultTopK))
	for i, q := range im.matcher.questions {
		if excluded(q) {
			im.leaveOut(i)
			continue
		}
		var d dataset.Question
		for repeat := 1; repeat <= im.repeats; repeat++ {
			a := im.answers[askedID{i, repeat}]
			if a == nil {
				continue
			}
			if d.ID == "" {
				d = im.question(q, b != nil)
				questions = append(questions, d)
			}
			addCost(&im.Report, a.cost)
			r := a.record(d, im.ID.VoteRule, im.judged)
			if r.Retrieved, err = found.chunks(q, a); err != nil {
				return err
			}
			if r.Retrieved == nil {
				r.Retrieved = []result.Chunk{}
			}
			compare(&r, q, im.TopK)
			found.cover(&r)
			if im.repeats > 1 {
				r.Repeat = repeat
			}
			if q.Haystack != q.ID {
				r.Haystack = q.Haystack
			}
			im.Records = append(im.Records, r)
		}
		if d.ID == "" {
			im.Report.Unanswered = append(im.Report.Unanswered, q.ID)
		}
	}
	for name, haystack := range im.matcher.conversations {
		if haystack != "" && name != haystack {
			im.Report.Conversations[name] = haystack
		}
	}
	im.Warnings = found.warnings(im.TopK, len(im.Records))
	im.judges()
	im.errata()
	im.Report.Renamed = im.renamed(b != nil)
	path, sum := im.Report.Files[0].Path, im.Report.Files[0].SHA256
	if b != nil {
		path, sum = b.Path, b.SHA256
	}
	if len(questions) == 0 {
		return fmt.Errorf("%s: the errata exclude every question that the files answer", path)
	}
	if im.Data, err = dataset.FromQuestions(path, sum, questions); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if im.repeats > 1 {
		im.Data.Repeats = im.repeats
	}
	return nil
}

// Brain names the memory behind the answers, which is otherwise unknown.
const Brain = "imported"

// question returns a question as a run asks it, without documents and evidence. If the files say
// what was retrieved, compare adds them to the record.
func (im *Import) question(q source.Question, known bool) dataset.Question {
	d := q.Dataset()
	if !known {
		d.Type, d.JudgeType, d.Tags = "", "", nil
		if q.Type != "" {
			d.Type, d.Tags = q.Type, []string{"type:" + q.Type}
		}
	}
	if conversation := q.Haystack; conversation != "" && conversation != q.ID {
		d.Tags = append(d.Tags, "conv:"+conversation)
	}
	d.ExpectedPaths, d.ExpectedGrades, d.ExpectedEvidence, d.Brain = nil, nil, nil, Brain
	return d
}

// record returns the record of an answer. judged reports whether any answer has a verdict. If so, a
// failure of the system without one is an error, so that failing is not better than a wrong answer.
// The error is by no model, unless the answer names one.
func (a *answer) record(q dataset.Question, rule result.VoteRule, judged bool) result.Record {
	given := target.Answer{
		Reply:   result.Reply{Answer: a.text, Model: a.model, Attempts: 1, Untimed: a.latencyMS == 0},
		Latency: time.Duration(a.latencyMS * float64(time.Millisecond)),
	}
	if a.tokens {
		given.Usage = &protocol.Usage{InputTokens: a.input, OutputTokens: a.output}
	}
	if judged && a.failure != "" && len(a.votes) == 0 {
		failure := &target.Failure{Failure: result.Failure{Kind: result.KindDaemon, Message: a.failure}}
		return pipeline.NewRecord(q, given, failure)
	}
	given.Model = cmp.Or(a.model, a.fileModel)
	v := a.verdict(rule)
	r := pipeline.NewRecord(q, given, nil).Graded(v)
	if !v.Scored {
		r.Outcome = result.Unjudged
	}
	if len(a.votes) > 1 {
		r.Votes = a.votes
	}
	return r
}
