package source

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// The files of a BEIR folder. The qrels list the relevant documents of each query.
const (
	beirQueries = "queries.jsonl"
	beirCorpus  = "corpus.jsonl"
	beirQrels   = "qrels/*.tsv"
	beirSplit   = "test.tsv" // the qrels that are read if there are several
)

// beirText is a line of the queries or the corpus.
type beirText struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// relevance has the documents relevant to a query and their grades, above 0.
type relevance struct {
	documents []string
	grades    []float64
}

// readBEIR reads the queries that have a relevant document. The corpus is one haystack, and each
// text a document.
func readBEIR(in wholeFile) (w whole, err error) {
	dir := filepath.Dir(in.path)
	h, byID, err := readBEIRCorpus(in, dir)
	if err != nil {
		return w, err
	}
	w.haystacks = []Haystack{h}
	judged, err := readQrels(in, dir)
	if err != nil {
		return w, err
	}
	queries, order := map[string]string{}, []string{}
	err = beirLines(in.path, in.data, func(line beirText) error {
		if _, twice := queries[line.ID]; twice {
			return fmt.Errorf("the query %q occurs twice", line.ID)
		}
		queries[line.ID], order = line.Text, append(order, line.ID)
		return nil
	})
	if err != nil {
		return w, err
	}
	for id := range judged {
		if _, known := queries[id]; !known {
			return w, fmt.Errorf("the qrels name the query %q, which %s does not have", id, in.path)
		}
	}
	for _, id := range order {
		r := judged[id]
		switch {
		case r == nil:
			in.traps.add(trapNotJudged, id)
			continue
		case len(r.documents) == 0:
			in.traps.add(trapNothingRelevant, id)
			continue
		}
		if _, same := byID[id]; same {
			in.traps.add(trapIdentical, id)
		}
		q := Question{ID: id, Type: noType, Text: queries[id], Haystack: h.ID}
		for i, document := range r.documents {
			path, known := byID[document]
			if !known {
				in.traps.add(trapGoldMissing, fmt.Sprintf("%s: document %s", id, document))
				continue
			}
			q.Gold = append(q.Gold, path)
			if grade := r.grades[i]; grade != 1 {
				q.grade(path, grade)
			}
		}
		if len(q.Gold) == 0 {
			return w, fmt.Errorf("no document that is relevant to the query %q is in %s", id, filepath.Join(dir, beirCorpus))
		}
		w.questions = append(w.questions, q)
	}
	return w, nil
}

// readBEIRCorpus returns the folder's haystack and the document paths by id.
func readBEIRCorpus(in wholeFile, dir string) (h Haystack, byID map[string]string, err error) {
	data, err := in.beside(filepath.Join(dir, beirCorpus))
	if err != nil {
		return h, nil, fmt.Errorf("%w; a folder of BEIR has %s, %s and %s", err, beirCorpus, beirQueries, beirQrels)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return h, nil, err
	}
	h = Haystack{ID: filepath.Base(absolute)}
	h.Brain = nameOf(h.ID)
	byID, h.corpus = map[string]string{}, map[string]bool{}
	err = beirLines(filepath.Join(dir, beirCorpus), data, func(line beirText) error {
		if _, twice := byID[line.ID]; twice {
			return fmt.Errorf("the document %q occurs twice", line.ID)
		}
		title, text := strings.Join(strings.Fields(line.Title), " "), strings.TrimSpace(line.Text)
		switch {
		case title == "" && text == "":
			in.traps.add(trapEmptySession, line.ID)
			return nil
		case len(text) > protocol.MaxBatchBytes-protocol.MaxBatchText:
			return fmt.Errorf("the document %q has %d bytes, the limit is %d", line.ID, len(text), protocol.MaxBatchBytes)
		case title != "":
			text = "# " + title + "\n\n" + text
		}
		path := beirPath(h.Brain, line.ID)
		byID[line.ID], h.corpus[path] = path, true
		h.Docs = append(h.Docs, dataset.Doc{Brain: h.Brain, Path: path, Data: []byte(text + "\n")})
		return nil
	})
	return h, byID, err
}

// beirPath returns the path of a document in the corpus.
func beirPath(brain, id string) string {
	return fmt.Sprintf("%s/%s/%s.md", dataset.BEIR, brain, nameOf(id))
}

// beirLines calls read for each line of the queries or the corpus.
func beirLines(path string, data []byte, read func(beirText) error) (err error) {
	eachLine(inputfile.Text(data), func(n int, line []byte) {
		if err != nil {
			return
		}
		var t beirText
		if err = jsonstream.Decode(line, 0, &t); err == nil && t.ID == "" {
			err = errors.New("it has no _id")
		}
		if err == nil {
			err = read(t)
		}
		if err != nil {
			err = fmt.Errorf("%s:%d: %w", path, n, err)
		}
	})
	return err
}

// readQrels returns the relevant documents by query id, from test.tsv or the only qrels file.
func readQrels(in wholeFile, dir string) (map[string]*relevance, error) {
	found, err := globIn(dir, beirQrels)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(found, func(f string) bool { return filepath.Base(f) == beirSplit }); i >= 0 {
		found = found[i : i+1]
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s must have qrels/%s, or one other file of qrels, and it has %d", dir, beirSplit, len(found))
	}
	data, err := in.beside(found[0])
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(inputfile.TSV(inputfile.Text(data))))
	r.Comma, r.FieldsPerRecord = '\t', 3
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; its columns must be query-id, corpus-id and score", found[0], err)
	}
	judged := map[string]*relevance{}
	for i, row := range rows {
		grade, err := strconv.Atoi(strings.TrimSpace(row[2]))
		switch {
		case i == 0 && err == nil:
			return nil, fmt.Errorf("%s:1: the first line is not a header, such as query-id, corpus-id, score: readers of BEIR would skip it", found[0])
		case i == 0:
			continue
		case err != nil:
			return nil, fmt.Errorf("%s:%d: the score %.40q is not a whole number", found[0], i+1, row[2])
		}
		q := judged[row[0]]
		if q == nil {
			q = &relevance{}
			judged[row[0]] = q
		}
		switch {
		case slices.Contains(q.documents, row[1]):
			return nil, fmt.Errorf("%s:%d: the document %q is graded twice for the query %q", found[0], i+1, row[1], row[0])
		case grade > 0:
			q.documents, q.grades = append(q.documents, row[1]), append(q.grades, float64(grade))
		}
	}
	return judged, nil
}
