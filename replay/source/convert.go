package source

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"evalctl/harness/dataset"
	"evalctl/internal/atomicfile"
	"evalctl/scorer"
)

// Convert writes the questions and the documents of a benchmark as JSONL, which dataset.Open and
// dataset.LoadCorpus read. Questions that errata exclude are left out. Each session becomes a
// document. It returns the number of documents. After an error neither file is there.
func (b *Benchmark) Convert(ctx context.Context, questions, corpus string) (documents int, err error) {
	err = writeLines(corpus, func(write func(any) error) error {
		documents, err = b.writeDocuments(ctx, write)
		return err
	})
	if err != nil {
		return 0, err
	}
	err = writeLines(questions, func(write func(any) error) error {
		for _, q := range b.Questions {
			if q.Erratum != nil && q.Erratum.Exclude {
				continue
			}
			if err := write(questionLineOf(q.Dataset())); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, errors.Join(err, os.Remove(corpus))
	}
	return documents, nil
}

// writeDocuments writes a document for each session and returns their number.
func (b *Benchmark) writeDocuments(ctx context.Context, write func(any) error) (n int, err error) {
	for _, h := range b.Infos() {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		haystack, err := b.Haystack(h.ID)
		if err != nil {
			return n, err
		}
		for _, s := range haystack.Sessions {
			n++
			if err := write(documentLine{s.Path, s.Title, s.Date, haystack.Brain, s.Text()}); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// documentLine is a line of a corpus.
type documentLine struct {
	Path  string `json:"path"`
	Title string `json:"title,omitempty"`
	Date  string `json:"date,omitempty"`
	Brain string `json:"brain,omitempty"`
	Text  string `json:"text"`
}

// questionLine is a line of a dataset.
type questionLine struct {
	ID        string         `json:"id"`
	Question  string         `json:"question"`
	Date      string         `json:"question_date,omitempty"`
	Expected  []string       `json:"expected_substrings,omitempty"`
	Reference string         `json:"reference_answer,omitempty"`
	Paths     []string       `json:"expected_paths,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Brain     string         `json:"brain,omitempty"`
	Checks    []scorer.Check `json:"checks,omitempty"`
}

func questionLineOf(q dataset.Question) questionLine {
	return questionLine{
		q.ID, q.Question, q.QuestionDate, q.ExpectedSubstrings, q.ReferenceAnswer, q.ExpectedPaths, q.Tags, q.Brain, q.Checks,
	}
}

// writeLines writes a file of JSON values, one per line, as a whole.
func writeLines(path string, lines func(write func(any) error) error) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		enc := json.NewEncoder(buffered)
		enc.SetEscapeHTML(false)
		if err := lines(enc.Encode); err != nil {
			return err
		}
		return buffered.Flush()
	})
}
