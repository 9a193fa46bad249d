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

// LeftOut is a file of the folder that is no document of the project.
type LeftOut struct{ Path, Why string }

// Why files are left out. Files that cannot be converted have their own reasons.
const (
	otherKind = "neither a text (.md, .markdown, .txt) nor HTML or PDF"
	notFile   = "a link or a device"
	badName   = "not a name of a document"
	sameName  = "another file has the same name without its ending"
	notText   = "not UTF-8"
	isEmpty   = "empty"
	tooLarge  = "larger than 8 MiB, or 25 MiB as PDF or HTML"
)

// documents reads the documents of a folder, which are named .md in the project: texts as they are,
// HTML and PDF converted to Markdown. Hidden files and folders are skipped. The other files are left
// out, ascending by path.
func documents(ctx context.Context, o Options) (docs []dataset.Doc, leftOut []LeftOut, err error) {
	folder, taken := o.From, map[string]bool{}
	err = fs.WalkDir(os.DirFS(folder), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(d.Name(), ".") && p != "."; hidden && d.IsDir() {
			return fs.SkipDir
		} else if hidden || d.IsDir() {
			return nil
		}
		name := strings.TrimSuffix(p, path.Ext(p)) + ".md"
		why := ""
		switch {
		case kindOf(p) == unknown:
			why = otherKind
		case !d.Type().IsRegular():
			why = notFile
		case dataset.CheckDocPath(name) != nil:
			why = badName
		case taken[name]:
			why = sameName
		}
		var data []byte
		if why == "" {
			if data, why, err = o.read(ctx, filepath.Join(folder, filepath.FromSlash(p)), kindOf(p)); err != nil {
				return err
			}
		}
		if why != "" {
			leftOut = append(leftOut, LeftOut{p, why})
			return nil
		}
		taken[name] = true
		docs = append(docs, dataset.Doc{Path: name, Data: data})
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the documents in %s: %w", folder, err)
	case len(docs) == 0 && len(leftOut) > 0:
		return nil, nil, fmt.Errorf("%s has no document: %s is left out (%s)", folder, leftOut[0].Path, leftOut[0].Why)
	case len(docs) == 0:
		return nil, nil, fmt.Errorf("%s has no document: texts end in .md, .markdown or .txt, and pages in .html or .pdf", folder)
	}
	slices.SortFunc(docs, func(a, b dataset.Doc) int { return strings.Compare(a.Path, b.Path) })
	return docs, leftOut, nil
}

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
	case errors.Is(err, inputfile.ErrTooLarge):
		return nil, tooLarge, nil
	case err != nil:
		return nil, "", err
	case k == page:
		markdown, err := o.Convert(ctx, filepath.Base(file), data)
		if err != nil && ctx.Err() == nil {
			return nil, err.Error(), nil
		}
		return []byte(markdown), "", err
	case !utf8.Valid(data):
		return nil, notText, nil
	case len(bytes.TrimSpace(data)) == 0:
		return nil, isEmpty, nil
	}
	return data, "", nil
}
