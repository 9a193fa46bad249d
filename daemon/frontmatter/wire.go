package frontmatter

import (
	"maps"
	"strings"
	"time"
)

// WireMetadata returns a copy of metadata for the wire: with the comma-joined tags as key tags and
// the date as key date. Without tags, or with a zero date, that key is not set.
func WireMetadata(metadata map[string]any, tags []string, date time.Time) map[string]any {
	wire := make(map[string]any, len(metadata)+2)
	maps.Copy(wire, metadata)
	if len(tags) > 0 {
		wire[keyTags] = strings.Join(tags, ",")
	}
	if !date.IsZero() {
		wire[keyDate] = FormatDate(date)
	}
	return wire
}

// FormatDate returns a date as it is in metadata on the wire: YYYY-MM-DD for midnight in UTC, else
// RFC 3339 in the date's own zone.
func FormatDate(t time.Time) string {
	if t.Equal(t.UTC().Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}
