// Package source reads memory benchmarks: the formats of dataset.Benchmarks, and JSONL questions
// with a corpus. It converts all of them to questions and haystacks of sessions.
//
// Open reads and checks the whole file once, and keeps the questions and the location of each
// haystack. Benchmark.Haystack reads one haystack. For LongMemEval and LoCoMo, memory use grows
// with the questions and not with the haystacks, so files of several gigabytes can be read.
//
// Ids and other data that reveal which sessions are gold do not reach paths, brains, session ids or
// documents.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Formats returns the formats of benchmark files.
func Formats() []dataset.Format {
	var all []dataset.Format
	for _, b := range dataset.Benchmarks() {
		all = append(all, b.Format)
	}
	return append(all, dataset.JSONL)
}

// Options configure Open.
type Options struct {
	// Format is the format of the file, detected from the content if empty.
	Format dataset.Format
	// Corpus is the path of the documents for a JSONL file. If empty, dataset.CorpusFor looks for
	// them beside the file. dataset.NoCorpus means no documents.
	Corpus string
	// ExpectedSHA256 is the digest that the file must have, in hexadecimal, or empty.
	ExpectedSHA256 string
	// Errata is the path of an errata file, or empty.
	Errata string
	// OptionSeed seeds the order of multiple-choice options.
	OptionSeed uint64
	// FileOrder keeps options in file order, which letters in stored answers refer to.
	FileOrder bool
}

// Benchmark is an open benchmark file. Its methods are safe for concurrent use.
type Benchmark struct {
	Path   string
	SHA256 string
	Format dataset.Format
	// Questions are in file order.
	Questions []Question
	Report    result.LoadReport
	Errata    *Errata // nil for none
	// OptionSeed is as in Options.
	OptionSeed uint64
	// Corpus and CorpusSHA256 identify the documents of a JSONL file, empty for none.
	Corpus       string
	CorpusSHA256 string

	file    *file
	others  []string // the other files of a folder
	entries []entry
	byID    map[string]int // the indexes of entries
	offsets []int64        // of the questions in an array
}

// HaystackInfo is the size of a haystack.
type HaystackInfo struct {
	ID       string
	Brain    string
	Sessions int // those that are written; for JSONL, the documents
	Turns    int
	// TextBytes is the size of all texts of turns or documents.
	TextBytes int64
}

// entry is a haystack and how to read it again.
type entry struct {
	info HaystackInfo
	read func() (Haystack, error)
}

// Open reads and checks the whole file at path. Errors name the byte or line, and the question. The
// caller must close the benchmark.
func Open(ctx context.Context, path string, o Options) (*Benchmark, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	f, err := openFile(files[0])
	if err != nil {
		return nil, err
	}
	b := &Benchmark{Path: path, OptionSeed: o.OptionSeed, file: f, others: files[1:], byID: map[string]int{}}
	err = b.load(ctx, o)
	if o.ExpectedSHA256 != "" {
		err = b.verify(ctx, o.ExpectedSHA256, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

func (o Options) check() error {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return fmt.Errorf("unknown format %q; known are %v", o.Format, Formats())
	}
	if o.ExpectedSHA256 == "" {
		return nil
	}
	if sum, err := hex.DecodeString(o.ExpectedSHA256); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("the expected SHA-256 %.80q must have %d hexadecimal digits",
			o.ExpectedSHA256, hex.EncodedLen(sha256.Size))
	}
	return nil
}

// verify compares the file's digest. An unexpected file is the likely cause of any other error, so
// it is reported instead.
func (b *Benchmark) verify(ctx context.Context, expected string, other error) error {
	if b.SHA256 == "" {
		sum, err := b.file.rehash(ctx)
		if err != nil {
			return errors.Join(other, err)
		}
		b.SHA256 = sum
	}
	if strings.EqualFold(b.SHA256, expected) {
		return other
	}
	return fmt.Errorf("%s is not the expected file: its SHA-256 is %s and must be %s; "+
		"download it again", b.Path, b.SHA256, strings.ToLower(expected))
}

// Infos returns the sizes of all haystacks in file order.
func (b *Benchmark) Infos() []HaystackInfo {
	infos := make([]HaystackInfo, len(b.entries))
	for i, e := range b.entries {
		infos[i] = e.info
	}
	return infos
}

// HasDocuments reports whether haystacks have documents instead of sessions.
func (b *Benchmark) HasDocuments() bool { return b.Format == dataset.JSONL || b.Format == dataset.BEIR }

// Haystack reads a haystack. It returns ErrChanged if the file has changed since Open.
func (b *Benchmark) Haystack(id string) (Haystack, error) {
	i, ok := b.byID[id]
	if !ok {
		return Haystack{}, fmt.Errorf("%s has no haystack %q", b.Path, id)
	}
	return b.entries[i].read()
}

// Close closes the file. Haystacks cannot be read afterwards.
func (b *Benchmark) Close() error { return b.file.Close() }
