package starter

import (
	"bytes"
	"context"
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
	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
)

// maxDocument limits a text, in bytes.
const maxDocument = 8 << 20

// LeftOut is a file of the folder that did not become a document.
type LeftOut struct{ Path, Why string }

// Why files are left out. Pages that cannot be converted have their own reasons.
const (
	otherKind = "neither a text (.md, .markdown, .txt) nor HTML or PDF"
	notFile   = "a link or a device"
	badName   = "not a valid document name"
	sameName  = "another file has the same name without its ending"
	notText   = "not UTF-8"
	isEmpty   = "empty"
	tooLong   = "its text is larger than 8 MiB"
	tooLarge  = "larger than 25 MiB"
	ofProject = "has the documents of a project: name it with --from to take them"
)

// documents reads the documents of a folder, which are named .md in the project: texts as they are,
// HTML and PDF converted to Markdown. If a text and a page have the same name, the text is taken.
// Hidden files and folders are skipped, and the documents of projects. Both lists are ascending by path.
func documents(ctx context.Context, o Options) (docs []dataset.Doc, leftOut []LeftOut, err error) {
	if info, err := os.Stat(o.From); err == nil && !info.IsDir() {
		return nil, nil, fmt.Errorf("--from %s is a file: name the folder with your documents", o.From)
	}
	files := map[kind][]string{}
	err = fs.WalkDir(os.DirFS(o.From), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && p != "."
		switch k := kindOf(p); {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden:
		case d.IsDir() && o.isCorpus(p):
			leftOut = append(leftOut, LeftOut{p, ofProject})
			return fs.SkipDir
		case d.IsDir():
		case !d.Type().IsRegular():
			leftOut = append(leftOut, LeftOut{p, notFile})
		case k == unknown:
			leftOut = append(leftOut, LeftOut{p, otherKind})
		case dataset.CheckDocPath(documentName(p)) != nil:
			leftOut = append(leftOut, LeftOut{p, badName})
		default:
			files[k] = append(files[k], p)
		}
		return nil
	})
	taken := map[string]bool{}
	for _, p := range slices.Concat(files[text], files[page]) {
		if err != nil {
			break
		}
		var data []byte
		why := sameName
		if !taken[documentName(p)] {
			data, why, err = o.read(ctx, filepath.Join(o.From, filepath.FromSlash(p)), kindOf(p))
		}
		if why != "" {
			leftOut = append(leftOut, LeftOut{p, why})
			continue
		}
		taken[documentName(p)] = true
		docs = append(docs, dataset.Doc{Path: documentName(p), Data: data})
	}
	slices.SortFunc(leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the documents in %s: %w", o.From, err)
	case len(docs) == 0 && len(leftOut) > 0:
		return nil, nil, fmt.Errorf("%s has no document: %s is left out (%s)", o.From, leftOut[0].Path, leftOut[0].Why)
	case len(docs) == 0:
		return nil, nil, fmt.Errorf("%s has no document: texts end in .md, .markdown or .txt, and pages in .html or .pdf", o.From)
	}
	slices.SortFunc(docs, func(a, b dataset.Doc) int { return strings.Compare(a.Path, b.Path) })
	return docs, leftOut, nil
}

// isCorpus reports whether a folder has the documents of a project, which may be copies of others.
func (o Options) isCorpus(p string) bool {
	beside := func(name string) bool {
		_, err := os.Stat(filepath.Join(o.From, filepath.FromSlash(path.Dir(p)), name))
		return err == nil
	}
	return path.Base(p) == corpusFolder && beside(questionsFile) && beside(projectFile)
}

// documentName returns the name of a file in the project.
func documentName(p string) string { return strings.TrimSuffix(p, path.Ext(p)) + ".md" }

// kind is how a file becomes a document.
type kind int

const (
	unknown kind = iota
	text
	page // is converted
)

func kindOf(p string) kind {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".markdown", ".txt":
		return text
	case ".html", ".htm", ".xhtml", ".pdf":
		return page
	}
	return unknown
}

// read reads a document. why is set if it is left out.
func (o Options) read(ctx context.Context, file string, k kind) (data []byte, why string, err error) {
	if k == page {
		data, err = inputfile.Read(file, protocol.MaxIngestBytes)
	} else {
		data, err = inputfile.ReadText(file, maxDocument)
	}
	switch {
	case errors.Is(err, inputfile.ErrTooLarge) && k == page:
		return nil, tooLarge, nil
	case errors.Is(err, inputfile.ErrTooLarge):
		return nil, tooLong, nil
	case err == nil && k == page:
		var markdown string
		markdown, why, err = o.Convert(ctx, filepath.Base(file), data)
		data = []byte(markdown)
	}
	switch {
	case err != nil || why != "":
		return nil, why, err
	case len(data) > maxDocument:
		return nil, tooLong, nil
	case !utf8.Valid(data):
		return nil, notText, nil
	case len(bytes.TrimSpace(data)) == 0:
		return nil, isEmpty, nil
	}
	return data, "", nil
}
