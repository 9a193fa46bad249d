package dataset

import (
	"fmt"
	"strings"

	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// IDs are question ids read from a file. The zero value means no file.
type IDs struct {
	Path string
	// List is nil without a file.
	List  []string
	lines []int // of the ids, from 1
}

// ReadIDs reads a file with one id per line. Empty lines, lines beginning with "#" and a byte order
// mark are ignored. An empty path means no file.
func ReadIDs(path string) (IDs, error) {
	l := IDs{Path: path}
	if path == "" {
		return l, nil
	}
	if err := resultfile.Unexpected(path, "ids, one on a line"); err != nil {
		return l, err
	}
	data, err := inputfile.ReadText(path, inputfile.Large)
	if err != nil {
		return l, err
	}
	l.List = []string{}
	first := map[string]int{}
	number := 0
	for line := range strings.Lines(string(inputfile.Table(data, false))) {
		number++
		id := strings.TrimSpace(line)
		if id == "" || strings.HasPrefix(id, "#") {
			continue
		}
		if first[id] > 0 {
			return l, l.wrong(number, id, fmt.Sprintf("is on line %d already", first[id]))
		}
		first[id] = number
		l.List, l.lines = append(l.List, id), append(l.lines, number)
	}
	if len(l.List) == 0 {
		return l, fmt.Errorf("%s has no ids; write one on each line", path)
	}
	return l, nil
}

// Check returns an error, with file and line, for an unknown id. of names the place where the ids
// were expected.
func (l IDs) Check(known map[string]bool, of string) error {
	for i, id := range l.List {
		if !known[id] {
			return l.wrong(l.lines[i], id, "is not the id of a question in "+of)
		}
	}
	return nil
}

func (l IDs) wrong(line int, id, problem string) error {
	return fmt.Errorf("%s:%d: %.100q %s", l.Path, line, id, problem)
}
