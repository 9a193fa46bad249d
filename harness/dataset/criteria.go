package dataset

import (
	"fmt"
	"regexp"
	"strings"
)

// Criteria are a Selection as a user writes it, with files of ids that are not read yet.
type Criteria struct {
	Tags []string
	// IDs select questions by their ids. @FILE is those in a file, one on each line, and @@ begins an
	// id that begins with @.
	IDs  []string
	Grep *regexp.Regexp
	// FailedOf is a result file, empty for none. It selects the questions that did not pass in it.
	FailedOf string
	Shuffle  bool
	Seed     uint64
	Limit    int
}

// Read reads the files and returns the selection.
func (c Criteria) Read() (Selection, error) {
	out := Selection{Tags: c.Tags, Grep: c.Grep, Shuffle: c.Shuffle, Seed: c.Seed, Limit: c.Limit}
	for _, id := range c.IDs {
		path, ok := strings.CutPrefix(id, "@")
		if !ok || path[0] == '@' {
			out.IDs = append(out.IDs, strings.TrimPrefix(id, "@"))
			continue
		}
		list, err := ReadIDs(path)
		if err != nil {
			return out, fmt.Errorf("--ids: %w", err)
		}
		out.IDs, out.IDsOf = append(out.IDs, list.List...), path
	}
	if c.FailedOf != "" {
		var err error
		if out.Failed, err = Failed(c.FailedOf); err != nil {
			return out, fmt.Errorf("--failed-of: %w", err)
		}
		out.FailedOf = c.FailedOf
	}
	return out, nil
}

// Fixed returns the ids that a selection allows because of files, as values of Criteria.IDs, or nil
// if no file selects any. The files may be gone or changed when a run is resumed.
func (s Selection) Fixed() []string {
	if s.IDsOf == "" && s.FailedOf == "" {
		return nil
	}
	ids, given := s.IDs, map[string]bool{}
	if s.Failed != nil {
		ids = s.Failed
	}
	for _, id := range s.IDs {
		given[id] = true
	}
	fixed := []string{}
	for _, id := range ids {
		if s.IDs != nil && !given[id] {
			continue
		}
		if strings.HasPrefix(id, "@") {
			id = "@" + id
		}
		fixed = append(fixed, id)
	}
	return fixed
}
