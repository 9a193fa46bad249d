package starter

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
)

// maxDocument limits a document, in bytes.
const maxDocument = 8 << 20

// documents reads the texts of a folder: files that end in .md, .markdown or .txt, which are named
// .md in the project. leftOut has the paths of other files, ascending. Hidden files, hidden folders
// and links are skipped.
func documents(folder string) (docs []dataset.Doc, leftOut []string, err error) {
	root := os.DirFS(folder)
	taken := map[string]bool{}
	err = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(d.Name(), ".") && p != "."; hidden && d.IsDir() {
			return fs.SkipDir
		} else if hidden || d.IsDir() {
			return nil
		}
		name := documentName(p)
		if name == "" || !d.Type().IsRegular() || taken[name] {
			leftOut = append(leftOut, p)
			return nil
		}
		data, err := inputfile.ReadText(filepath.Join(folder, filepath.FromSlash(p)), maxDocument)
		if err != nil {
			return err
		}
		if !utf8.Valid(data) || len(bytes.TrimSpace(data)) == 0 {
			leftOut = append(leftOut, p)
			return nil
		}
		taken[name] = true
		docs = append(docs, dataset.Doc{Path: name, Data: data})
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the documents in %s: %w", folder, err)
	case len(docs) == 0:
		return nil, nil, fmt.Errorf("%s has no document: texts end in .md, .markdown or .txt; evalctl serve has a converter for other files (POST /ingest)", folder)
	}
	slices.SortFunc(docs, func(a, b dataset.Doc) int { return strings.Compare(a.Path, b.Path) })
	return docs, leftOut, nil
}

// documentName returns the document path for a file of the corpus, empty if the file is not a
// document.
func documentName(p string) string {
	ending := strings.ToLower(path.Ext(p))
	name := strings.TrimSuffix(p, path.Ext(p)) + ".md"
	if !slices.Contains([]string{".md", ".markdown", ".txt"}, ending) || dataset.CheckDocPath(name) != nil {
		return ""
	}
	return name
}
