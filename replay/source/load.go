package source

import (
	"bytes"
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

// element is an element of a file that is read as a stream: a haystack with its questions.
type element interface {
	// name names the nth element in errors.
	name(n int) string
	// info has the id, and the turns counted as in the file.
	info() HaystackInfo
	haystack(*traps) (Haystack, error)
	// addTo adds the questions about haystack h with their offsets. The element begins at offset
	// at.
	addTo(b *Benchmark, h Haystack, at int64, traps *traps) error
}

// elements maps each streamed format to the reader of the n-th element, counted from 1. With an
// error, the reader also returns the part read so far.
var elements = map[dataset.Format]func(w *walker, n int) (element, error){
	dataset.LoCoMo:      func(w *walker, n int) (element, error) { return w.conversation(n) },
	dataset.LongMemEval: func(w *walker, n int) (element, error) { return w.instance(n) },
}

// addElement reads the nth element and adds its questions and haystack.
func (b *Benchmark) addElement(w *walker, n int) error {
	if _, err := w.r.Peek(); err != nil {
		return err
	}
	start := w.r.Offset()
	e, err := elements[b.Format](w, n)
	name := e.name(n) // e itself, with all turns, must not stay in memory
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	length := w.r.Offset() - start
	h, err := e.haystack(w.traps)
	if err == nil {
		err = e.addTo(b, h, start, w.traps)
	}
	if err == nil {
		info := e.info()
		info.Brain, info.Sessions = h.Brain, len(h.Sessions)
		err = b.add(info, func() (Haystack, error) { return b.haystackAt(name, n, start, length) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, jsonstream.At(start, err))
	}
	return nil
}

// haystackAt reads an element's haystack again.
func (b *Benchmark) haystackAt(name string, n int, start, length int64) (Haystack, error) {
	data, err := b.file.part(start, length)
	if err != nil {
		return Haystack{}, err
	}
	e, err := elements[b.Format](&walker{r: jsonstream.New(bytes.NewReader(data), start), keep: true}, n)
	if err != nil {
		return Haystack{}, fmt.Errorf("%s: %s: %w", b.Path, name, err)
	}
	return e.haystack(nil)
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
	switch read := wholes[b.Format]; {
	case b.Format == dataset.JSONL:
		err = b.loadJSONL(o.Corpus, traps)
	case read != nil:
		err = b.loadWhole(ctx, read, o, traps)
	default:
		err = b.loadArray(ctx, traps)
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

// withOptions are the formats with multiple-choice questions.
var withOptions = []dataset.Format{dataset.PersonaMem, dataset.PrefEval, dataset.LifeBench}

// format returns the given format, or detects it.
func (b *Benchmark) format(o Options) (dataset.Format, error) {
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
	case len(b.others) > 0 && found != dataset.BEAM && found != dataset.ConvoMem:
		return "", fmt.Errorf("it is a folder of files of %s; name one of them", found)
	case o.OptionSeed != 0 && !slices.Contains(withOptions, found):
		return "", fmt.Errorf("an option seed was given, and a file of %s has no multiple-choice options; omit it", found)
	case o.Corpus != "" && found != dataset.JSONL:
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
	return dataset.JoinErrors(bad, "questions without answer")
}

// loadArray reads the file as an array.
func (b *Benchmark) loadArray(ctx context.Context, traps *traps) error {
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
		return b.addElement(w, n)
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

// add adds a haystack, whose id and brain must be new.
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
