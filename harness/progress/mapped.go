package progress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// mappedText describes the target.
func mappedText(m *result.MappedService) string {
	text := fmt.Sprintf("mapping %s (%.12s)", m.Mapping, m.SHA256)
	if m.Server != "" {
		text += fmt.Sprintf(" of the MCP server %s %s", m.Server, m.ServerVersion)
	}
	return strings.TrimSpace(text)
}

// notMeasurable lists the keys of NotMeasurable, "" for none.
func notMeasurable(m *result.MappedService) string {
	return strings.Join(slices.Sorted(maps.Keys(m.NotMeasurable)), ", ")
}
