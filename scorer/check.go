package scorer

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/internal/visible"
)

// Check is one condition on the answer to a question. Exactly one field up to MaxLatencyMS is set;
// its JSON name is the kind of the check.
type Check struct {
	// Contains is a text that the answer must contain, NotContains one it must not. Both are
	// compared as Exact does.
	Contains    string `json:"contains,omitempty"`
	NotContains string `json:"not_contains,omitempty"`
	// Regex is a regular expression (RE2) that must match part of the answer.
	Regex string `json:"regex,omitempty"`
	// Cites is the path of a corpus document that the answer must cite.
	Cites string `json:"cites,omitempty"`
	// Before is a day, YYYY-MM-DD. Every retrieved or cited document must be dated before it.
	Before string `json:"before,omitempty"`
	// Judge is a criterion for a language model.
	Judge string `json:"judge,omitempty"`
	// Choice is the letter of the option that the answer must choose, from a to z.
	Choice string `json:"choice,omitempty"`
	// MaxLatencyMS is the maximum time to the answer, in milliseconds.
	MaxLatencyMS float64 `json:"max_latency_ms,omitempty"`

	// Name is the name in figures, by default the kind.
	Name string `json:"name,omitempty"`
	// Weight is the check's weight in the score; 0 means that the check is mandatory.
	Weight float64 `json:"weight,omitempty"`
}

// CheckResult is the outcome of one check for one answer.
type CheckResult struct {
	// Holds is meaningless unless Scored.
	Holds bool
	// Scored is false if the judge gave no usable verdict; Reason then says why.
	Scored bool
	// Reason explains the outcome. It may contain text of the answer and of the judge.
	Reason string
}

// maxCheckName limits the name of a check, in characters.
const maxCheckName = 100

// The kinds of checks, named as in JSON.
const (
	kindContains    = "contains"
	kindNotContains = "not_contains"
	kindRegex       = "regex"
	kindCites       = "cites"
	kindBefore      = "before"
	kindJudge       = "judge"
	kindChoice      = "choice"
	kindLatency     = "max_latency_ms"
)

// checkKinds are all kinds, in display order.
var checkKinds = []string{
	kindContains, kindNotContains, kindRegex, kindCites, kindBefore, kindJudge, kindChoice, kindLatency,
}

// CheckKinds returns the kinds of checks as named in datasets.
func CheckKinds() []string { return slices.Clone(checkKinds) }

// text returns the field for a kind, nil for kindLatency.
func (c *Check) text(kind string) *string {
	switch kind {
	case kindContains:
		return &c.Contains
	case kindNotContains:
		return &c.NotContains
	case kindRegex:
		return &c.Regex
	case kindCites:
		return &c.Cites
	case kindBefore:
		return &c.Before
	case kindJudge:
		return &c.Judge
	case kindChoice:
		return &c.Choice
	}
	return nil
}

// Kind returns the kind of the check, empty if no field is set.
func (c Check) Kind() string {
	for _, kind := range checkKinds {
		if c.has(kind) {
			return kind
		}
	}
	return ""
}

// has reports whether the field for a kind is set.
func (c Check) has(kind string) bool {
	t := c.text(kind)
	return t != nil && *t != "" || t == nil && c.MaxLatencyMS != 0
}

// Want returns the check's value as text.
func (c Check) Want() string {
	if t := c.text(c.Kind()); t != nil {
		return *t
	}
	return strconv.FormatFloat(c.MaxLatencyMS, 'g', -1, 64)
}

// Label returns the check's name in figures.
func (c Check) Label() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Kind()
}

// String returns the check for messages.
func (c Check) String() string {
	text := c.Kind() + " " + c.Want()
	if c.Kind() != kindLatency {
		text = fmt.Sprintf("%s %q", c.Kind(), c.Want())
	}
	if c.Name != "" {
		return fmt.Sprintf("%s (%s)", c.Name, text)
	}
	return text
}

// NeedsJudge reports whether the check needs a language model.
func (c Check) NeedsJudge() bool { return c.Judge != "" }

// Valid returns an error unless the check has exactly one value, a valid regular expression or day,
// and an allowed name and weight.
func (c Check) Valid() error {
	set := slices.DeleteFunc(CheckKinds(), func(kind string) bool { return !c.has(kind) })
	if len(set) != 1 {
		return fmt.Errorf("a check has exactly one of %s, not %d of them", strings.Join(checkKinds, ", "), len(set))
	}
	kind := set[0]
	if err := c.validWant(kind); err != nil {
		return fmt.Errorf("%q: %w", kind, err)
	}
	switch {
	case c.Name != kind && slices.Contains(checkKinds, c.Name):
		return fmt.Errorf(`"name": %q is a kind of checks, and this one is %s; give it another name`, c.Name, kind)
	case utf8.RuneCountInString(c.Name) > maxCheckName:
		return fmt.Errorf(`"name" is longer than %d characters; shorten it`, maxCheckName)
	case !(c.Weight >= 0) || math.IsInf(c.Weight, 1):
		return errors.New(`"weight" must be above 0; leave it out for a check that must hold`)
	}
	return nil
}

// validWant checks the value of a kind.
func (c Check) validWant(kind string) error {
	switch kind {
	case kindLatency:
		if !(c.MaxLatencyMS > 0) || math.IsInf(c.MaxLatencyMS, 1) {
			return errors.New("it must be a number above 0, in milliseconds")
		}
		return nil
	case kindRegex:
		if _, err := regexp.Compile(c.Regex); err != nil {
			return fmt.Errorf("%w; the syntax is RE2, which has no look-around and no back-references", err)
		}
		return nil
	case kindChoice:
		if len(c.Choice) != 1 || c.Choice[0] < 'a' || c.Choice[0] > 'z' {
			return fmt.Errorf("%.20q is not the letter of an option, from a to z", c.Choice)
		}
		return nil
	case kindBefore:
		if _, err := time.Parse(time.DateOnly, c.Before); err != nil {
			return fmt.Errorf("%q is not a day (2025-03-14)", c.Before)
		}
	}
	if visible.Words(*c.text(kind)) == "" {
		return errors.New("it is blank; say what the answer must have")
	}
	return nil
}
