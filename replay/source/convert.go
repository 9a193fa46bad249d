package source

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"evalctl/internal/atomicfile"
)

// Convert writes the questions and documents of a benchmark as JSONL for dataset.Open and
// dataset.LoadCorpus, and returns the number of documents. Each session becomes a document.
// Questions excluded by errata are left out, and haystacks without a question, which a run rejects.
// After an error neither file exists.
func (b *Benchmark) Convert(ctx context.Context, questions, corpus string) (documents int, err error) {
	written := b.included()
	if len(written) == 0 && b.Errata != nil {
		return 0, fmt.Errorf("%s excludes every question of %s: nothing is left to convert", b.Errata.Path, b.Path)
	}
	err = writeLines(corpus, func(write func(any) error) error {
		documents, err = b.writeDocuments(ctx, haystacksOf(written), write)
		return err
	})
	if err != nil {
		return 0, err
	}
	err = writeLines(questions, func(write func(any) error) error {
		for _, q := range written {
			if err := write(q.Dataset()); err != nil {
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

// included returns the questions that errata do not exclude.
func (b *Benchmark) included() (list []Question) {
	for _, q := range b.Questions {
		if q.Erratum == nil || !q.Erratum.Exclude {
			list = append(list, q)
		}
	}
	return list
}

// haystacksOf returns the ids of the haystacks of questions.
func haystacksOf(questions []Question) map[string]bool {
	ids := map[string]bool{}
	for _, q := range questions {
		ids[q.Haystack] = true
	}
	return ids
}

// writeDocuments writes one document per session of the wanted haystacks and returns their number.
func (b *Benchmark) writeDocuments(
	ctx context.Context, wanted map[string]bool, write func(any) error,
) (n int, err error) {
	for _, h := range b.Infos() {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		if !wanted[h.ID] {
			continue
		}
		haystack, err := b.Haystack(h.ID)
		if err != nil {
			return n, err
		}
		for _, d := range haystack.Docs {
			n++
			if err := write(documentLine{Path: d.Path, Brain: haystack.Brain, Text: string(d.Data)}); err != nil {
				return n, err
			}
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

// writeLines atomically writes a file of JSON values, one per line.
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
