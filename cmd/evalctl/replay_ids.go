package main

import (
	"fmt"
	"os"
	"strings"

	"evalctl/replay/source"
)

// idList is a file with the ids of questions.
type idList struct {
	flag, path string
	ids        []string // nil without a file
	lines      []int    // of the ids, from 1
}

// readIDs reads a file with an id on each line. Empty lines, those that begin with "#", and a byte
// order mark are ignored.
func readIDs(flag, path string) (idList, error) {
	l := idList{flag: flag, path: path}
	if path == "" {
		return l, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("--%s: %w", flag, err)
	}
	l.ids = []string{}
	first := map[string]int{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		id := strings.TrimSpace(line)
		if id == "" || strings.HasPrefix(id, "#") {
			continue
		}
		if first[id] > 0 {
			return l, l.wrong(number, id, fmt.Sprintf("is on line %d already", first[id]))
		}
		first[id] = number
		l.ids, l.lines = append(l.ids, id), append(l.lines, number)
	}
	if len(l.ids) == 0 {
		return l, fmt.Errorf("--%s: %s has no ids; write one on each line", flag, path)
	}
	return l, nil
}

// check returns an error for an id that no question of a benchmark has.
func (l idList) check(b *source.Benchmark) error {
	known := make(map[string]bool, len(b.Questions))
	for _, q := range b.Questions {
		known[q.ID] = true
	}
	for i, id := range l.ids {
		if !known[id] {
			return l.wrong(l.lines[i], id, "is not the id of a question in "+b.Path)
		}
	}
	return nil
}

func (l idList) wrong(line int, id, problem string) error {
	return fmt.Errorf("--%s: %s:%d: %.100q %s", l.flag, l.path, line, id, problem)
}
