package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
)

// resultPath returns the path of the result file of the journal's run.
func (j *Journal) resultPath() string {
	name := cmp.Or(j.start.Name, j.start.Identity.SDK)
	return filepath.Join(filepath.Dir(j.path), name+".json")
}

// WriteResult writes the result file <sdk>.json next to the journal and returns its path. The
// questions are copied from the journal one at a time, in the order of the dataset. A file of an
// earlier run is kept as a backup.
func (j *Journal) WriteResult(res *result.Result) (string, error) {
	path := j.resultPath()
	err := atomicfile.WriteNew(path, 0o644, func(w io.Writer) error { return j.encode(w, res) })
	if err != nil {
		return "", fmt.Errorf("write result %s: %w", path, err)
	}
	return path, nil
}

func (j *Journal) encode(to io.Writer, res *result.Result) error {
	w := bufio.NewWriterSize(to, 256<<10)
	head, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	// The questions follow the other keys, in the same object.
	if _, err := fmt.Fprintf(w, "%s,\n  \"questions\": [", head[:len(head)-2]); err != nil {
		return err
	}
	sep := "\n    "
	src := &windowReader{src: j.file}
	var buf []byte
	for i, s := range j.slots {
		if !s.answered {
			continue
		}
		line, err := j.raw(src, i, buf)
		buf = line
		if err == nil && !s.finished {
			line, err = unjudged(line)
		}
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		sep = ",\n    "
	}
	if _, err := w.WriteString("\n  ]\n}\n"); err != nil {
		return err
	}
	return w.Flush()
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
