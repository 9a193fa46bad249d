package frontmatter

import (
	"maps"
	"strings"
	"time"
)

// WireMetadata returns metadata as the protocol carries it: with the tags comma-joined as tags, and
// the date as date. No tags, or a zero date, leave the key as it is. The result is a new map.
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

// FormatDate returns a date as the protocol carries it in metadata: YYYY-MM-DD for midnight in
// UTC, else RFC 3339 in the date's own zone.
func FormatDate(t time.Time) string {
	if t.Equal(t.UTC().Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}
