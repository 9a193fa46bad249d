package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// Doc is one corpus document as written to a brain. Path is relative to the corpus. Brain is the
// brain named in its line, if any. Line is the line number, counted from 1, or 0 for a file.
type Doc struct {
	Path  string
	Brain string
	Data  []byte
	Line  int
}

// Corpus has the documents to seed brains with, sorted by path and brain.
type Corpus struct {
	Path   string
	SHA256 string
	Docs   []Doc
	// LeftOut are the sorted paths of a folder's files and links that are not documents. Documents
	// are regular files whose names end in .md.
	LeftOut []string
	// Unknown counts the lines with each unknown key. Their values are ignored.
	Unknown map[string]int
}

// CorpusFor returns the conventional path of a dataset's corpus: beside smoke.jsonl, the folder
// smoke.corpus or the file smoke.corpus.jsonl. It is empty if neither exists; a link that leads
// nowhere does.
func CorpusFor(dataset string) string {
	base := strings.TrimSuffix(dataset, filepath.Ext(dataset)) + ".corpus"
	for _, p := range []string{base, base + ".jsonl"} {
		if _, err := os.Lstat(p); err == nil {
			return p
		}
	}
	return ""
}

// LoadCorpus reads a folder of Markdown files or a JSONL file of {path, title, text, date?, brain?}
// lines. It checks every document. It returns an error, with file and line, for an empty corpus, an
// unknown key that probably stands for a missing one, a document above 8 MiB, a path outside the
// brain, a file name beginning with _ (generated and hidden, spec 2) and a path that occurs twice
// in a brain. For a file in another format it returns a *FormatError.
func LoadCorpus(p string) (Corpus, error) {
	info, err := os.Stat(p)
	if err != nil {
		return Corpus{}, fmt.Errorf("open corpus: %w", err)
	}
	c := Corpus{Path: p}
	if info.IsDir() {
		c.Docs, c.LeftOut, err = loadFolder(p)
	} else {
		c.Docs, c.Unknown, err = loadLines(p)
	}
	if err != nil {
		return Corpus{}, err
	}
	if len(c.Docs) == 0 {
		return Corpus{}, fmt.Errorf("corpus %s has no documents; it must be a folder of .md files, "+
			"or a .jsonl file of {path, title, text} lines", p)
	}
	slices.SortFunc(c.Docs, func(a, b Doc) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Brain, b.Brain))
	})
	sum := sha256.New()
	for _, d := range c.Docs {
		fmt.Fprintf(sum, "%d %s\n%d\n", len(d.Path), d.Path, len(d.Data))
		sum.Write(d.Data)
		if d.Brain != "" {
			fmt.Fprintf(sum, "in %s\n", d.Brain)
		}
	}
	c.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return c, nil
}

func loadFolder(dir string) (docs []Doc, leftOut []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open corpus: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if path.Ext(p) != ".md" {
			leftOut = append(leftOut, p)
			return nil
		}
		if err := CheckDocPath(p); err != nil {
			return err
		}
		data, err := inputfile.ReadIn(root, p, inputfile.Large)
		switch {
		case err != nil && e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link that leads out of the folder or to nothing; put a copy of the file there: %w", p, err)
		case err != nil:
			return err
		case !utf8.Valid(data):
			return fmt.Errorf("%s is not valid UTF-8; save it as UTF-8", p)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			return fmt.Errorf("%s is empty; fill it or remove it", p)
		}
		if err := checkDocSize(p, data); err != nil {
			return err
		}
		docs = append(docs, Doc{Path: p, Data: data})
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read corpus %s: %w", dir, err)
	}
	return docs, leftOut, nil
}

func loadLines(file string) (docs []Doc, unknown map[string]int, err error) {
	if err := resultfile.Unexpected(file, "a corpus, which is a folder of .md files, or has one document a line in JSON"); err != nil {
		return nil, nil, err
	}
	f, err := inputfile.OpenStream(file, inputfile.Streamed)
	if err != nil {
		return nil, nil, fmt.Errorf("open corpus: %w", err)
	}
	defer f.Close()
	head, text := readHead(f)
	if err := checkFormat(file, convertedCorpus(file), head); err != nil {
		return nil, nil, err
	}
	var bad []error
	names := documentKeys()
	type place struct{ brain, path string }
	seen := map[place]int{}
	for line, err := range readLines(text, file) {
		if err == nil {
			var d Doc
			var others []string
			d, others, err = parseDoc(line.text, names)
			countKeys(&unknown, others)
			at := place{d.Brain, d.Path}
			if err == nil && seen[at] > 0 {
				err = fmt.Errorf("path %q is already used on line %d", d.Path, seen[at])
			}
			seen[at], d.Line = line.number, line.number
			docs = append(docs, d)
			if err != nil {
				err = &LineError{File: file, Line: line.number, Err: err}
			}
		}
		if err != nil {
			bad = append(bad, err)
		}
	}
	if len(bad) > 0 {
		return nil, nil, JoinLines(bad)
	}
	return docs, unknown, nil
}

// parseDoc converts a corpus line to Markdown that every daemon can read, with the date as front
// matter and the title as the first heading. It also returns the unknown keys.
func parseDoc(line []byte, names *keyNames) (doc Doc, unknown []string, err error) {
	var p, title, date, brain string
	var text *string
	unknown, err = decodeObject(line, names,
		field{key: "path", into: &p}, field{key: "title", into: &title}, field{key: "text", into: &text},
		field{key: "date", into: &date}, field{key: "brain", into: &brain},
	)
	if err != nil {
		return Doc{}, nil, err
	}
	if err := CheckDocPath(p); err != nil {
		return Doc{}, nil, err
	}
	// Some published corpora contain empty documents, but a document without the key is a mistake.
	if text == nil && title == "" {
		return Doc{}, nil, fmt.Errorf(`document %q has neither "title" nor "text"; `+
			`give it "text": "" if it is empty`, p)
	}
	if brain != "" {
		if err := checkBrain(brain); err != nil {
			return Doc{}, nil, fmt.Errorf("document %q: %w", p, err)
		}
	}
	if date != "" {
		if _, err := parseDate(date); err != nil {
			return Doc{}, nil, fmt.Errorf(`document %q: "date": %w`, p, err)
		}
	}
	data := markdownOf(title, date, text)
	return Doc{Path: p, Brain: brain, Data: data}, unknown, checkDocSize(p, data)
}

// markdownOf returns a document with the date as front matter and the title as the first heading.
func markdownOf(title, date string, text *string) []byte {
	var b strings.Builder
	if date != "" {
		fmt.Fprintf(&b, "---\ndate: %s\n---\n\n", date)
	}
	if title != "" {
		// A line break in a title would end the heading.
		fmt.Fprintf(&b, "# %s\n\n", strings.Join(strings.Fields(title), " "))
	}
	if text != nil {
		b.WriteString(*text)
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

// checkDocSize returns an error for a document too large for any request (spec 8).
func checkDocSize(p string, data []byte) error {
	if len(data) > protocol.MaxBatchBytes {
		return fmt.Errorf("document %q has %d bytes and the protocol's limit is %d; split it",
			p, len(data), protocol.MaxBatchBytes)
	}
	return nil
}

// CheckDocPath returns an error for a path that a document in a corpus cannot have.
func CheckDocPath(p string) error {
	if p == "" {
		return errors.New(`"path" is missing`)
	}
	if !fs.ValidPath(p) || p == "." || strings.ContainsAny(p, "\\\x00") {
		return fmt.Errorf("path %q must be relative, with / between segments "+
			"and no . or .. segment", p)
	}
	if strings.HasPrefix(path.Base(p), "_") {
		return fmt.Errorf("path %q must not have a file name that begins with _: "+
			"daemons treat such a file as generated and do not search it", p)
	}
	return nil
}
