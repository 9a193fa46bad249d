package dataset

import (
	"fmt"
	"regexp"
	"strings"
)

// Criteria are a Selection as written by a user, with id files not yet read.
type Criteria struct {
	Tags []string
	// IDs select questions by id. @FILE stands for the ids in a file, one per line, and @@ escapes
	// an id that begins with @.
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

// Fixed returns the ids selected by files, as values for Criteria.IDs, or nil if no file selects
// any. The files may have changed or disappeared when a run is resumed.
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
