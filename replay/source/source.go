// Package source reads benchmarks of memory: those of dataset.Benchmarks, and questions in JSONL with
// a corpus. All become questions and haystacks of sessions, whatever the file looks like.
//
// Open reads a file once, checks all of it, and keeps the questions and where each haystack is.
// Benchmark.Haystack reads one of them. With LongMemEval and LoCoMo, memory grows with the questions,
// not with the haystacks, so files of several gigabytes can be read.
//
// What says in a file which sessions are gold, such as the ids of sessions, does not reach paths,
// brains, session ids or documents.
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

// Options says how a benchmark file is read.
type Options struct {
	// Format is the format of the file. If it is empty, it is determined from the content.
	Format dataset.Format
	// Corpus is the path of the documents for a file in JSONL. If it is empty, they are next to the
	// file, as dataset.CorpusFor says, or there are none. dataset.NoCorpus is none.
	Corpus string
	// ExpectedSHA256 is the digest that the file must have, in hexadecimal, empty for any.
	ExpectedSHA256 string
	// Errata is the path of a file of errata, empty for none.
	Errata string
	// OptionSeed is the seed of the order in which the options of multiple-choice questions are shown.
	OptionSeed uint64
	// FileOrder shows options in the order of the file, to which letters in stored answers refer.
	FileOrder bool
}

// Benchmark is a benchmark file that Open has found usable. Its methods may be called concurrently.
type Benchmark struct {
	Path   string
	SHA256 string
	Format dataset.Format
	// Questions are in the order of the file.
	Questions []Question
	Report    result.LoadReport
	Errata    *Errata // nil for none
	// OptionSeed is that of Options.
	OptionSeed uint64
	// Corpus and CorpusSHA256 say which documents a file in JSONL has, empty for none.
	Corpus       string
	CorpusSHA256 string

	file    *file
	others  []string // the other files of a folder
	entries []entry
	byID    map[string]int // the indexes of entries
	offsets []int64        // of the questions in an array
}

// HaystackInfo says how large a haystack is.
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

// Open reads and checks the whole file at path. An error says at which byte or line, and of which
// question, the file cannot be used. The caller must close the benchmark.
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

// verify compares the digest of the file. A file that is not the expected one is the likely cause
// of other errors, so it is reported instead.
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

// Infos returns the sizes of all haystacks, in the order of the file.
func (b *Benchmark) Infos() []HaystackInfo {
	infos := make([]HaystackInfo, len(b.entries))
	for i, e := range b.entries {
		infos[i] = e.info
	}
	return infos
}

// HasDocuments reports whether haystacks have documents, and no sessions.
func (b *Benchmark) HasDocuments() bool { return b.Format == dataset.JSONL || b.Format == dataset.BEIR }

// Haystack reads a haystack. The error is ErrChanged if the file is not what it was at Open.
func (b *Benchmark) Haystack(id string) (Haystack, error) {
	i, ok := b.byID[id]
	if !ok {
		return Haystack{}, fmt.Errorf("%s has no haystack %q", b.Path, id)
	}
	return b.entries[i].read()
}

// Close closes the file. Haystacks cannot be read afterwards.
func (b *Benchmark) Close() error { return b.file.Close() }
