package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonobj"
)

// Run holds a result as a comparison needs it: the text, tags, gold and outcome of each question.
// Its methods and Compare do not modify it.
type Run struct {
	name   string // of a side, empty for one that is named after its file
	parts  []*Run // nil unless a side has several
	path   string
	info   os.FileInfo
	sha256 string
	format Format
	// res is nil for a run in JSON lines.
	res       *result.Result
	questions []question
	index     map[string]int // of an id in questions
	// ignored counts, by key, the JSON lines with an unknown key.
	ignored map[string]int
}

// Path returns the path that was opened.
func (r *Run) Path() string { return r.path }

// Result returns the result, nil for a run in JSON lines.
func (r *Run) Result() *result.Result { return r.res }

// Open reads a result file or a run in JSON lines. JSON lines have one object for each question,
// with the keys id and passed and optionally question, answer, score, tags, latency_ms and
// first_delta_ms; other keys are ignored and counted. The format is detected from the contents.
//
// Errors name the file and the line or offset. Two lines with the same id are an error, as is any
// other file that evalctl writes, such as a journal.
func Open(path string) (*Run, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	run := &Run{
		path: path, info: src.info, format: src.format, res: src.res,
		index: map[string]int{}, ignored: src.ignored,
	}
	if run.sha256, err = inputfile.Digest(path); err != nil {
		return nil, err
	}
	for rec, err := range src.records {
		if err != nil {
			return nil, err
		}
		i, again := run.index[rec.ID]
		if !again {
			i = len(run.questions)
			run.index[rec.ID] = i
			run.questions = append(run.questions, questionOf(&rec))
		}
		q := &run.questions[i]
		a := attemptOf(&rec)
		if src.res != nil {
			a.recipes = verdictsBy(&rec, src.res.Identity.Panel)
		}
		if src.res != nil && src.res.Mapped.Unranked() {
			a.without(measureNDCG, measureRR, measureAP)
		}
		if src.res != nil && src.res.Mapped.Unretrieved() {
			a.without(measureEvidence, measureRecall, measureNDCG, measureRR, measureAP)
		}
		if src.res != nil && src.res.Imported != nil && !rec.HasTexts() {
			a.without(measureEvidence) // which files of earlier versions have as 0
		}
		q.attempts = append(q.attempts, a)
	}
	if len(run.questions) == 0 {
		return nil, fmt.Errorf("read %s: it has no questions, so there is nothing to compare", path)
	}
	return run, nil
}

// OpenAll opens several files concurrently. The error joins the errors of all files that cannot be
// read.
func OpenAll(paths []string) ([]*Run, error) {
	runs, errs := make([]*Run, len(paths)), make([]error, len(paths))
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Go(func() { runs[i], errs[i] = Open(path) })
	}
	wait.Wait()
	return runs, errors.Join(errs...)
}

// source is an open file with the records of its questions.
type source struct {
	info    os.FileInfo
	format  Format
	res     *result.Result
	records iter.Seq2[result.Record, error]
	ignored map[string]int // complete once all records are read
	close   func()
}

func openSource(path string) (*source, error) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if errors.Is(err, inputfile.ErrFolder) {
		return nil, fmt.Errorf("%s is a folder: name the result files in it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open result: %w", err)
	}
	info, err := f.Stat()
	var lines bool
	if err == nil {
		lines, err = hasLines(f)
	}
	if err == nil && lines {
		src := &source{info: info, format: JSONLines, ignored: map[string]int{}, close: func() { _ = f.Close() }}
		src.records = readLines(f, path, src.ignored)
		return src, nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, err
	}
	res := r.Result()
	return &source{
		info: info, format: ResultFile, res: &res, records: r.Questions(),
		close: func() { _ = r.Close() }, // it was only read
	}, nil
}

// sniffed is the number of bytes read to detect the format.
const sniffed = 1 << 20

// hasLines reports whether the first non-blank line is a question or looks like a damaged object.
// It rewinds f.
func hasLines(f *os.File) (bool, error) {
	head, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return false, fmt.Errorf("read result: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read result: %w", err)
	}
	line, _, _ := bytes.Cut(bytes.TrimLeft(trimMark(head), " \t\r\n"), []byte("\n"))
	line = bytes.TrimSpace(line)
	o, err := jsonobj.Parse(line)
	if err != nil {
		return bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}")), nil
	}
	return o.Get("identity") == nil && (o.Get("id") != nil || o.Get("passed") != nil), nil
}

// trimMark removes a byte order mark.
func trimMark(text []byte) []byte { return inputfile.Text(text) }
