package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// KeyTime is a time in a keys file: a date, which means its beginning in UTC, or a time of RFC
// 3339. The zero value is left out of the file.
type KeyTime struct{ time.Time }

// NewKeyTime returns t in UTC without fractions of a second, which is how a file has it.
func NewKeyTime(t time.Time) KeyTime { return KeyTime{t.UTC().Truncate(time.Second)} }

// ParseExpiry reads when a key expires: a date, a time of RFC 3339, or how long the key is valid
// from now on, such as 12h or 30d. A time that is not after now is an error.
func ParseExpiry(text string, now time.Time) (KeyTime, error) {
	at, err := parseTime(text)
	if err != nil {
		valid, durationErr := parseDays(text)
		if durationErr != nil {
			return KeyTime{}, fmt.Errorf("%q is neither a date such as 2027-01-31, a time such as "+
				"2027-01-31T12:00:00Z nor a duration such as 12h or 30d", text)
		}
		at = now.Add(valid)
	}
	t := NewKeyTime(at)
	if !t.After(now) {
		return KeyTime{}, fmt.Errorf("%q is not in the future", text)
	}
	return t, nil
}

func parseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, text)
}

// parseDays is time.ParseDuration that also knows whole days.
func parseDays(text string) (time.Duration, error) {
	digits, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(digits, 10, 15) // 89 years fit into a Duration
	return time.Duration(days) * 24 * time.Hour, err
}

// String returns the time as outputs show it.
func (t KeyTime) String() string { return t.UTC().Format(time.RFC3339) }

// MarshalYAML implements yaml.Marshaler.
func (t KeyTime) MarshalYAML() (any, error) { return t.Time, nil }

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *KeyTime) UnmarshalYAML(node *yaml.Node) error {
	at, err := parseTime(node.Value)
	if err != nil || at.IsZero() || node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %q is not a time such as 2027-01-31 or 2027-01-31T12:00:00Z",
			node.Line, node.Value)
	}
	*t = NewKeyTime(at)
	return nil
}
