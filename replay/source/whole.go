package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
)

// wholes maps each format that is read as a whole to its reader, which returns one file's questions
// and haystacks.
var wholes = map[dataset.Format]func(in wholeFile) (whole, error){
	dataset.BEAM:       readBEAM,
	dataset.ConvoMem:   readConvoMem,
	dataset.PersonaMem: readPersonaMem,

	dataset.MemoryAgentBench: readMemoryAgentBench,
	dataset.PrefEval:         readPrefEval,
	dataset.LettaFacts:       readLettaFacts,
	dataset.AgentMemory:      readAgentMemory,
	dataset.BEIR:             readBEIR,
	dataset.HaluMem:          readHaluMem,
	dataset.LoCoMoPlus:       readLoCoMoPlus,
	dataset.LongMemEval2:     readLongMemEval2,
	dataset.LifeBench:        readLifeBench,
}

// wholeFile is an input file.
type wholeFile struct {
	path string
	data []byte
	seed uint64 // of the order of options
	// fileOrder is as in Options.
	fileOrder bool
	traps     *traps
	// beside reads another file of the benchmark and includes it in the benchmark's digest.
	beside func(path string) ([]byte, error)
	// lines is like beside for JSON lines of any size, read line by line.
	lines func(path string, read func(line []byte) error) error
}

// whole is the content of a file.
type whole struct {
	questions []Question
	haystacks []Haystack
}

// maxWhole limits the size of a file that is read as a whole.
const maxWhole = 1 << 30

// filesOf returns the files of a benchmark: the path itself, or a folder's files in natural order.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, nil // openFile reports the error
	}
	for _, pattern := range []string{beirQueries, "chat.json", "*/chat.json", "*.json", "*_evidence/*.json", "*_evidence/*_evidence/*.json"} {
		found, err := globIn(path, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s is a folder without chat.json, of BEAM, without queries.jsonl, of BEIR, and without files in JSON", path)
}

// globIn returns the files in a folder that match a pattern. The folder's name itself is taken
// literally.
func globIn(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	slices.SortFunc(names, natural)
	for i, n := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(n))
		if err := inputfile.Within(dir, names[i], maxWhole); err != nil {
			return nil, err
		}
	}
	return names, err
}

// natural compares names so that 2 precedes 10.
func natural(a, b string) int {
	first, errA := strconv.Atoi(strings.Split(a, "/")[0])
	second, errB := strconv.Atoi(strings.Split(b, "/")[0])
	if errA == nil && errB == nil && first != second {
		return cmp.Compare(first, second)
	}
	return strings.Compare(a, b)
}

// loadWhole reads the files with read.
func (b *Benchmark) loadWhole(ctx context.Context, read func(wholeFile) (whole, error), o Options, traps *traps) error {
	src, err := b.file.sequential(ctx)
	if err != nil {
		return err
	}
	if b.file.size > maxWhole {
		return fmt.Errorf("%s has %d bytes; a file of %s has at most %d", b.Path, b.file.size, b.Format, maxWhole)
	}
	data, err := io.ReadAll(src)
	if err != nil {
		return err
	}
	if b.SHA256, err = b.file.sum(); err != nil {
		return err
	}
	ids, main := map[string]bool{}, b.file.Name()
	digests := digestLines{digestLine(b.SHA256, main)} // which reading it has computed
	for i, path := range append([]string{main}, b.others...) {
		if i > 0 {
			if data, err = readWhole(path); err != nil {
				return err
			}
			b.file.size += int64(len(data))
			digests.add(path, data)
		}
		w, err := read(wholeFile{
			path: path, data: inputfile.Text(data), seed: o.OptionSeed, fileOrder: o.FileOrder, traps: traps,
			beside: func(path string) ([]byte, error) {
				data, err := readWhole(path)
				digests.add(path, data)
				b.file.size += int64(len(data))
				return data, err
			},
			lines: func(path string, read func([]byte) error) error {
				sum, size, err := readLines(path, func(line []byte) error {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					return read(line)
				})
				digests = append(digests, digestLine(sum, path))
				b.file.size += size
				return err
			},
		})
		if err == nil {
			err = b.addWhole(w, ids, traps)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(digests) > 1 {
		b.SHA256 = digests.sum()
	}
	if len(b.Questions) == 0 {
		return fmt.Errorf("%s: there are no questions", b.Path)
	}
	return nil
}

func readWhole(path string) ([]byte, error) {
	return inputfile.Read(path, maxWhole)
}

// readLines calls read for each non-blank line of a file and returns the file's digest and size.
func readLines(path string, read func([]byte) error) (digest string, size int64, err error) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	from := bufio.NewReaderSize(io.TeeReader(f, hash), 1<<20)
	for n := 1; ; n++ {
		line, err := from.ReadBytes('\n')
		size += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := read(line); err != nil {
				return "", size, fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(hash.Sum(nil)), size, nil
		case err != nil:
			return "", size, fmt.Errorf("%s: %w", path, err)
		}
	}
}

// digestLines has the digests of several files in sha256sum format.
type digestLines []string

func (d *digestLines) add(path string, data []byte) {
	sum := sha256.Sum256(data)
	*d = append(*d, digestLine(hex.EncodeToString(sum[:]), path))
}

func digestLine(sha256, path string) string { return sha256 + "  " + filepath.Base(path) + "\n" }

func (d digestLines) sum() string {
	sum := sha256.Sum256([]byte(strings.Join(d, "")))
	return hex.EncodeToString(sum[:])
}

// addWhole adds a file's questions and haystacks. ids has the ids of the questions so far.
func (b *Benchmark) addWhole(w whole, ids map[string]bool, traps *traps) error {
	haystacks := map[string]Haystack{}
	for _, h := range w.haystacks {
		info := HaystackInfo{ID: h.ID, Brain: h.Brain, Sessions: len(h.Sessions) + len(h.Docs)}
		if info.Sessions == 0 {
			return fmt.Errorf("haystack %q: %w", h.ID, errNoSessions)
		}
		for _, d := range h.Docs {
			info.TextBytes += int64(len(d.Data))
		}
		for _, s := range h.Sessions {
			size := 0
			for _, t := range s.Turns {
				size += len(t.Text)
			}
			if size > protocol.MaxBatchBytes-protocol.MaxBatchText {
				return fmt.Errorf("session %s has %d bytes of text, the limit of a document is %d",
					s.SourceID, size, protocol.MaxBatchBytes)
			}
			info.Turns += len(s.Turns)
			info.TextBytes += int64(size)
		}
		if err := b.add(info, func() (Haystack, error) { return h, nil }); err != nil {
			return err
		}
		haystacks[h.ID] = h
	}
	for _, q := range w.questions {
		switch {
		case ids[q.ID]:
			return fmt.Errorf("the question id %q occurs twice; ids must be unique", q.ID)
		case strings.TrimSpace(q.Text) == "":
			return fmt.Errorf("question %q has no text", q.ID)
		case strings.TrimSpace(q.Answer) == "" && b.Format != dataset.BEIR:
			return fmt.Errorf("question %q has no answer", q.ID)
		case len(q.Gold) == 0 && !q.Abstention && q.Checks == nil:
			traps.add(trapNoGold, q.ID)
		}
		ids[q.ID] = true
		h := haystacks[q.Haystack]
		q.Brain = h.Brain
		if err := b.Errata.apply(&q, h.evidencePaths, h.evidenceTexts); err != nil {
			return err
		}
		b.Questions = append(b.Questions, q)
	}
	return nil
}

// numbered sets the paths and ids of a haystack's sessions, in order.
func (h *Haystack) numbered(format dataset.Format) {
	for i := range h.Sessions {
		s := &h.Sessions[i]
		s.Path = fmt.Sprintf("%s/%s/session-%03d.md", format, h.Brain, i+1)
		s.ID = fmt.Sprintf("%s-session-%03d", h.Brain, i+1)
		if s.Between == "" {
			s.Between = "\n\n"
		}
	}
}

// roleOf returns the role and name of a turn. It counts roles other than user and assistant.
func roleOf(role, where string, traps *traps) (known, name string) {
	switch strings.ToLower(role) {
	case "user", "human":
		return "user", ""
	case "assistant", "ai", "model":
		return "assistant", ""
	}
	traps.add(trapRole, fmt.Sprintf("%s: %.40q", where, role))
	return "user", role
}
