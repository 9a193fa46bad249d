package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/jsonstream"
)

// adders have for each format that is read as a stream what adds the n-th element of a file, counted
// from 1, to the questions.
var adders = map[Format]func(b *Benchmark, w *walker, n int) error{
	LoCoMo:      (*Benchmark).addConversation,
	LongMemEval: (*Benchmark).addInstance,
}

// load fills b from its file.
func (b *Benchmark) load(ctx context.Context, o Options) (err error) {
	if b.Format, err = b.format(o); err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	if o.Errata != "" {
		if b.Errata, err = loadErrata(o.Errata); err != nil {
			return err
		}
	}
	traps := newTraps()
	switch add, read := adders[b.Format], wholes[b.Format]; {
	case b.Format == JSONL:
		err = b.loadJSONL(o.Corpus, traps)
	case read != nil:
		err = b.loadWhole(ctx, read, o, traps)
	default:
		err = b.loadArray(ctx, traps, func(w *walker, n int) error { return add(b, w, n) })
	}
	if err == nil {
		err = b.checkAnswers()
	}
	if err == nil && b.Errata != nil {
		err = b.Errata.unused(b.Path)
	}
	if err != nil {
		return err
	}
	b.Questions, b.offsets = slices.Clone(b.Questions), slices.Clip(b.offsets)
	b.report(traps)
	return nil
}

// format determines the format of the file.
func (b *Benchmark) format(o Options) (Format, error) {
	head, err := b.file.head()
	if err != nil {
		return "", err
	}
	found, err := detect(head)
	switch {
	case err != nil:
		return "", err
	case o.Format != "" && o.Format != found:
		return "", fmt.Errorf("the format %s was expected and the content is %s", o.Format, found)
	case len(b.others) > 0 && found != BEAM && found != ConvoMem:
		return "", fmt.Errorf("it is a folder of files of %s; name one of them", found)
	case o.OptionSeed != 0 && found != PersonaMem:
		return "", fmt.Errorf("an option seed was given, and a file of %s has no multiple-choice options; omit it", found)
	case o.Corpus != "" && found != JSONL:
		return "", fmt.Errorf("a corpus was given, and a file of %s contains its documents; "+
			"omit the corpus", found)
	}
	return found, nil
}

// checkAnswers returns an error for a question that cannot be scored.
func (b *Benchmark) checkAnswers() error {
	var bad []error
	for i, at := range b.offsets {
		q := b.Questions[i]
		if strings.TrimSpace(q.Answer) != "" || q.Erratum != nil && q.Erratum.Exclude {
			continue
		}
		bad = append(bad, fmt.Errorf("%s: question %q: %w", b.Path, q.ID, jsonstream.At(at,
			errors.New("it has no answer; exclude it, or give it one, with errata"))))
	}
	if len(bad) > 0 {
		return dataset.JoinErrors(bad, "questions without answer")
	}
	return nil
}

// loadArray reads the file as an array, whose elements each reads.
func (b *Benchmark) loadArray(
	ctx context.Context, traps *traps, each func(*walker, int) error,
) error {
	src, err := b.file.sequential(ctx)
	if err != nil {
		return err
	}
	offset, err := b.skipMark(src, traps)
	if err != nil {
		return err
	}
	w := &walker{r: jsonstream.New(src, offset), traps: traps}
	n := 0
	err = w.r.Elements(func() error {
		n++
		return each(w, n)
	})
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	if b.SHA256, err = b.file.sum(); err != nil {
		return err
	}
	if len(b.Questions) == 0 {
		return fmt.Errorf("%s: the array has no questions", b.Path)
	}
	return nil
}

// skipMark skips a byte order mark and returns the offset after it.
func (b *Benchmark) skipMark(src io.Reader, traps *traps) (int64, error) {
	head, err := b.file.head()
	if err != nil || !strings.HasPrefix(string(head), byteOrderMark) {
		return 0, err
	}
	traps.add(trapByteOrderMark, b.Path)
	if _, err := io.CopyN(io.Discard, src, int64(len(byteOrderMark))); err != nil {
		return 0, err
	}
	return int64(len(byteOrderMark)), nil
}

// add adds a haystack. Its id must be new, and so must be its brain.
func (b *Benchmark) add(info HaystackInfo, read func() (Haystack, error)) error {
	for _, e := range b.entries {
		if e.info.Brain == info.Brain {
			return fmt.Errorf("the ids %q and %q yield the same brain %s; rename one",
				e.info.ID, info.ID, info.Brain)
		}
	}
	b.byID[info.ID] = len(b.entries)
	b.entries = append(b.entries, entry{info, read})
	return nil
}

// report fills the load report.
func (b *Benchmark) report(traps *traps) {
	b.Report = result.LoadReport{
		Format: string(b.Format), Path: b.Path, SHA256: b.SHA256, Bytes: b.file.size,
		Haystacks: len(b.entries), Questions: len(b.Questions), Traps: traps.list(),
	}
	for _, e := range b.entries {
		b.Report.Sessions += e.info.Sessions
		b.Report.Turns += e.info.Turns
	}
}
