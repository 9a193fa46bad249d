package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/internal/inputfile"
	"evalctl/internal/jsonobj"
)

// Conversion is the result of Convert.
type Conversion struct {
	// Lines has one question or document per line, in file order.
	Lines []byte
	// Documents is set if the file has documents instead of questions.
	Documents bool
	Count     int
	// Renamed maps renamed keys of the file to the known keys.
	Renamed map[string]string
	// Numbered is set if the file has no ids, so that the questions were named q1, q2 and so on.
	Numbered bool
}

// record is one question or document of a file in any format.
type record struct {
	line  int
	cells []cell
}

// Convert converts a file of questions or documents from JSONArray, CSV, TSV or YAML to JSONL.
// Fields are named by the keys of objects or the header of a table; other spellings and common
// synonyms are renamed. Errors are up to ten *LineErrors with the line of the file.
func Convert(name string, data []byte, format Format) (Conversion, error) {
	data = inputfile.Text(data)
	if err := checkText(name, data); err != nil {
		return Conversion{}, err
	}
	var records []record
	var err error
	switch format {
	case CSV, TSV:
		records, err = readTable(name, data, format)
	case YAML:
		records, err = readYAML(name, data)
	case JSONArray:
		records, err = readJSON(name, data)
	default:
		return Conversion{}, fmt.Errorf("%s: %s cannot be converted to JSONL", name, format)
	}
	if err != nil {
		return Conversion{}, err
	}
	if len(records) == 0 {
		return Conversion{}, fmt.Errorf("%s has no questions", name)
	}
	return convertRecords(name, records)
}

// checkText returns an error for text that is not UTF-8.
func checkText(name string, data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return fmt.Errorf("%s is in UTF-16; save it as UTF-8", name)
	}
	n := 0
	for line := range bytes.Lines(data) {
		if n++; !utf8.Valid(line) {
			return &LineError{File: name, Line: n,
				Err: errors.New("the line is not valid UTF-8; save the file as UTF-8")}
		}
	}
	return nil
}

var questionColumns = []column{
	{"id", false}, {"question", false}, {"question_date", false}, {"expected_substrings", true},
	{"reference_answer", false}, {"expected_paths", true}, {"expected_evidence", true}, {"checks", false}, {"tags", true},
	{"brain", false},
}

var documentColumns = []column{
	{"path", false}, {"title", false}, {"date", false}, {"brain", false}, {"text", false},
}

// converter converts records of one kind.
type converter struct {
	columns []column
	names   *keyNames
	out     *Conversion
}

// known returns the column that a key means, -1 for none. exactly is set if the key is the column's
// own name.
func (c *converter) known(key string) (i int, exactly bool) {
	i = slices.IndexFunc(c.columns, func(k column) bool { return k.key == key })
	if i >= 0 {
		return i, true
	}
	s := letters(key)
	return slices.IndexFunc(c.columns, func(k column) bool {
		return letters(k.key) == s || c.names.synonyms[s] == k.key
	}), false
}

// converterFor returns a converter for questions, or else for documents, by the keys of the first
// record.
func converterFor(name string, first record, out *Conversion) (*converter, error) {
	questions := &converter{questionColumns, questionKeys(), out}
	documents := &converter{documentColumns, documentKeys(), out}
	isQuestion, isDocument := false, false
	var keys []string
	for _, cell := range first.cells {
		keys = append(keys, fmt.Sprintf("%.40q", cell.key))
		if i, _ := questions.known(cell.key); i >= 0 && questionColumns[i].key == "question" {
			isQuestion = true
		}
		if i, _ := documents.known(cell.key); i >= 0 && slices.Contains([]string{"path", "text"}, documentColumns[i].key) {
			isDocument = true
		}
	}
	switch {
	case isQuestion:
		return questions, nil
	case isDocument:
		out.Documents = true
		return documents, nil
	}
	return nil, &LineError{File: name, Line: first.line, Err: fmt.Errorf("the fields are %s: "+
		"a question needs id and question, a document path and text", strings.Join(keys, ", "))}
}

// convertRecords converts each record to a line.
func convertRecords(name string, records []record) (Conversion, error) {
	out := Conversion{Count: len(records), Renamed: map[string]string{}}
	c, err := converterFor(name, records[0], &out)
	if err != nil {
		return Conversion{}, err
	}
	for _, r := range records {
		if err := checkLost(name, r); err != nil && !out.Documents {
			return Conversion{}, err
		}
	}
	out.Numbered = !out.Documents && !slices.ContainsFunc(records, func(r record) bool {
		return slices.ContainsFunc(r.cells, func(cell cell) bool {
			i, _ := c.known(cell.key)
			return i >= 0 && c.columns[i].key == "id"
		})
	})
	var lines bytes.Buffer
	var bad []error
	seen := map[string]int{}
	for i, r := range records {
		if out.Numbered {
			r.cells = append(r.cells, cell{key: "id", text: fmt.Sprintf("q%d", i+1)})
		}
		line, err := c.line(r)
		var id string
		if err == nil {
			id, err = c.check(line)
		}
		if err == nil && seen[id] > 0 {
			err = fmt.Errorf("%s is already used on line %d", id, seen[id])
		}
		if err != nil {
			bad = append(bad, &LineError{File: name, Line: r.line, Err: err})
			continue
		}
		seen[id] = r.line
		lines.Write(line)
		lines.WriteByte('\n')
	}
	if len(bad) > 0 {
		return Conversion{}, JoinLines(bad)
	}
	out.Lines = lines.Bytes()
	return out, nil
}

// check checks a line like its reader, and returns the value that must be unique in the file.
func (c *converter) check(line []byte) (id string, err error) {
	if len(line) > maxLine {
		return "", fmt.Errorf("it is longer than %d MiB; split it", maxLine>>20)
	}
	if !c.out.Documents {
		q, err := parseQuestion(line, c.names)
		return fmt.Sprintf("id %q", q.ID), err
	}
	d, _, err := parseDoc(line, c.names)
	return prefixedBrain(d.Brain) + fmt.Sprintf("path %q", d.Path), err
}

func prefixedBrain(brain string) string {
	if brain == "" {
		return ""
	}
	return "in brain " + brain + " "
}

// line returns a record as JSON: the known fields in order, then the others.
func (c *converter) line(r record) ([]byte, error) {
	values := make([]json.RawMessage, len(c.columns))
	from := make([]string, len(c.columns))
	var others []cell
	for _, exactly := range []bool{true, false} {
		for _, cell := range r.cells {
			i, exact := c.known(cell.key)
			switch {
			case exact != exactly:
				continue
			case i < 0 || from[i] != "" && from[i] == c.columns[i].key:
				others = append(others, cell) // of two names, the exact one counts
				continue
			case from[i] != "":
				return nil, fmt.Errorf("%q and %q both mean %q; remove one", from[i], cell.key, c.columns[i].key)
			}
			value, err := c.columns[i].value(cell)
			if err != nil {
				return nil, err
			}
			if values[i], from[i] = value, cell.key; !exact {
				c.out.Renamed[cell.key] = c.columns[i].key
			}
		}
	}
	members := []jsonobj.Member{}
	for i, v := range values {
		if v != nil {
			members = append(members, jsonobj.Member{Key: []byte(c.columns[i].key), Value: v})
		}
	}
	for _, cell := range others {
		if v := cell.raw(); v != nil {
			members = append(members, jsonobj.Member{Key: []byte(cell.key), Value: v})
		}
	}
	return encodeMembers(members)
}

// Renames returns the renamed keys as "from → to", in order.
func (c Conversion) Renames() []string {
	var out []string
	for _, from := range slices.Sorted(maps.Keys(c.Renamed)) {
		out = append(out, from+" → "+c.Renamed[from])
	}
	return out
}
