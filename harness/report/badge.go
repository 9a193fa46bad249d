package report

import (
	"errors"
	"fmt"
	"io"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// Badge writes an image for a project page: the measurement, and the rate with the number of
// questions. A result that is not a score has no rate.
func Badge(w io.Writer, d Document) error {
	run, ok := d.(*Run)
	if !ok {
		return errors.New("only a result of run or replay has a badge")
	}
	label, value, tone := run.badge()
	_, err := io.WriteString(w, svg.Badge(label, value, tone))
	return err
}

// badge returns the parts of a badge.
func (run *Run) badge() (label, value string, tone svg.Tone) {
	res := &run.Result
	label = "memory " + wording.ScoredBy(res.Identity)
	switch g := res.Gate; {
	case !run.scored() || res.Suspected() || res.PassRate == nil:
		return label, "no score", svg.Neutral
	default:
		value, tone = fmt.Sprintf("%s of %s", figure.Rate(res.PassRate), figure.Count(res.Total, "question")), svg.Neutral
		switch g.Word() {
		case result.Pass:
			tone = svg.Good
		case result.Fail:
			tone = svg.Bad
		}
	}
	return label, value, tone
}
