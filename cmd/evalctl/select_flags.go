package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"evalctl/harness/dataset"
)

// maxRepeats is the maximum of --repeats.
const maxRepeats = 100

// selectFlags say which questions of the dataset are asked, in which order and how often.
type selectFlags struct {
	Tags     []string `placeholder:"TAG,..." help:"Ask only questions with one of these tags." group:"questions"`
	IDs      []string `name:"ids" placeholder:"ID,..." help:"Ask only the questions with these ids. @FILE: those in a file, one on each line." group:"questions"`
	Grep     string   `placeholder:"REGEXP" help:"Ask only questions whose text matches a regular expression." group:"advanced"`
	FailedOf string   `name:"failed-of" placeholder:"FILE" help:"Ask only the questions that did not pass in a result file." group:"advanced"`
	Shuffle  bool     `help:"Ask in an order that --seed determines." group:"advanced"`
	Seed     *uint64  `placeholder:"N" help:"Seed of --shuffle. Default: 0." group:"advanced"`
	Limit    *int     `placeholder:"N" help:"Ask only the first N of the questions that the other flags select." group:"questions"`
	Repeats  int      `default:"1" placeholder:"K" help:"Ask every question K times (${default})." group:"advanced"`
	Cluster  string   `placeholder:"TAG" help:"Take questions with the same tag TAG:X as alike in confidence intervals." group:"advanced"`

	grep *regexp.Regexp
	// fixed are the ids that files select, as values of --ids, if any do.
	fixed []string
}

// validate checks what the tags of the flags cannot express.
func (s *selectFlags) validate() (err error) {
	switch {
	case slices.Contains(s.Tags, ""):
		return errors.New("--tags: a tag is empty; give tags of the dataset, separated by commas")
	case slices.Contains(s.IDs, "") || slices.Contains(s.IDs, "@"):
		return errors.New("--ids: an id is empty; give ids separated by commas, or @FILE")
	case s.Seed != nil && !s.Shuffle:
		return errors.New("--seed has no effect without --shuffle; add --shuffle, or leave --seed out")
	case s.Limit != nil && *s.Limit < 1:
		return fmt.Errorf("--limit %d: must be at least 1; leave it out to ask all questions", *s.Limit)
	case s.Repeats < 1 || s.Repeats > maxRepeats:
		return fmt.Errorf("--repeats %d: must be from 1 to %d", s.Repeats, maxRepeats)
	}
	if s.Grep != "" {
		if s.grep, err = regexp.Compile(s.Grep); err != nil {
			return fmt.Errorf("--grep %s: %w", s.Grep, err)
		}
	}
	return nil
}

// criteria returns what the flags select.
func (s *selectFlags) criteria() dataset.Criteria {
	c := dataset.Criteria{Tags: s.Tags, IDs: s.IDs, Grep: s.grep, FailedOf: s.FailedOf, Shuffle: s.Shuffle}
	if s.Seed != nil {
		c.Seed = *s.Seed
	}
	if s.Limit != nil {
		c.Limit = *s.Limit
	}
	return c
}
