package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/atomicfile"
)

// output returns the run's result file.
func (j *Journal) output() Output {
	return Output{filepath.Dir(j.path), j.start.Name, j.start.File}
}

// ResultPath returns the permanent path that WriteResult writes.
func (j *Journal) ResultPath() string { return j.output().Own() }

// WriteResult writes the result file beside the journal and returns the path of <sdk>.json. The
// permanent name was fixed when the run began, so a resumed run replaces its partial result. See
// Output. Questions are copied from the journal one at a time, in dataset order.
func (j *Journal) WriteResult(res *result.Result) (string, error) {
	out := j.output()
	err := out.Write(func(w io.Writer) error { return j.encode(w, res) })
	if err != nil {
		return "", fmt.Errorf("write result %s: %w", out.Own(), err)
	}
	return out.Latest(), nil
}

func (j *Journal) encode(to io.Writer, res *result.Result) error {
	return encode(to, res, func(yield func([]byte, error) bool) {
		src := &windowReader{src: j.file}
		var buf []byte
		for i, s := range j.slots {
			if !s.Answered && !s.Reopened {
				continue
			}
			line, err := j.raw(src, i, buf)
			buf = line
			if err == nil && s.Answered && !s.Finished {
				line, err = unjudged(line)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	})
}

// encode writes a result with the JSON of its questions.
func encode(to io.Writer, res *result.Result, questions iter.Seq2[[]byte, error]) error {
	w := bufio.NewWriterSize(to, 256<<10)
	head, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	if err := EncodeWithQuestions(w, head, "", questions); err != nil {
		return err
	}
	if err := w.WriteByte('\n'); err != nil {
		return err
	}
	return w.Flush()
}

// EncodeWithQuestions writes the indented JSON object head with "questions" as its last key, one
// per line. indent is the indentation of the object's closing brace.
func EncodeWithQuestions(w *bufio.Writer, head []byte, indent string, questions iter.Seq2[[]byte, error]) error {
	head = bytes.TrimSuffix(head, []byte("\n"+indent+"}"))
	if _, err := fmt.Fprintf(w, "%s,\n%s  \"questions\": [", head, indent); err != nil {
		return err
	}
	sep := "\n    " + indent
	for line, err := range questions {
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		sep = ",\n    " + indent
	}
	_, err := fmt.Fprintf(w, "\n%s  ]\n%[1]s}", indent)
	return err
}

// ReplaceCosts rewrites the result file at path, either of its names, with costs set by change. own
// is the permanent path. The questions stay unchanged. The caller must have locked the output.
func ReplaceCosts(path string, change func(r *result.Result, own string) error) (err error) {
	r, err := resultfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	res := r.Result()
	own, latest := Names(path)
	if err := change(&res, own); err != nil {
		return err
	}
	content := func(w io.Writer) error { return encode(w, &res, r.RawQuestions()) }
	if latest == "" || own == latest {
		err = atomicfile.Write(own, 0o644, content)
	} else {
		name := strings.TrimSuffix(filepath.Base(latest), resultExt)
		err = Output{filepath.Dir(own), name, filepath.Base(own)}.Write(content)
	}
	if err != nil {
		return fmt.Errorf("write the costs into %s: %w", own, err)
	}
	return nil
}

const notJudged = "the run stopped before this answer was judged"

func unjudged(record []byte) ([]byte, error) {
	var r result.Record
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, err
	}
	r.Reason = notJudged
	return json.Marshal(r)
}
