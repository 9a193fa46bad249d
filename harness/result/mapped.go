package result

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MappedService describes a service that a mapping made a target: how it was used, and what of it cannot be
// measured.
type MappedService struct {
	// Mapping is the name of the mapping, and SHA256 that of its file.
	Mapping string `json:"mapping"`
	SHA256  string `json:"mapping_sha256"`
	// Transport is mcp or http.
	Transport string `json:"transport"`
	// Query is question if questions were sent as they are, and keywords if each of their keywords was
	// searched for on its own.
	Query string `json:"query"`
	// Brains is how brains were kept apart: process, argument, reset or one.
	Brains string `json:"brains"`
	// Server, ServerVersion and Protocol are what an MCP server reports.
	Server        string `json:"server,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	Protocol      string `json:"protocol,omitempty"`
	// Models says who counts what the models cost that the service calls by itself. It is empty in files
	// of earlier versions.
	Models Models `json:"models,omitempty"`
	// Calls counts the calls by tool, or by method and path.
	Calls map[string]int `json:"calls"`
	// NotMeasurable says what the target cannot do or does not say, and why: ask, search, ids, ranks,
	// scores, dates, modes.
	NotMeasurable map[string]string `json:"not_measurable"`
	// ByText counts the passages whose documents were found by their text, because the target does not
	// say which they are.
	ByText int `json:"matched_by_text,omitempty"`
	// Findings say what was found out about the service while it was filled, such as documents that were
	// never found.
	Findings []string `json:"findings,omitempty"`
	// Noise says what a server wrote to its standard output besides messages.
	Noise string `json:"noise,omitempty"`
}

// Models says what is known of the models that a service calls by itself.
type Models string

// The values of Models.
const (
	ModelsNone    Models = "none"    // by its mapping, it calls none
	ModelsGateway Models = "gateway" // their cost is counted
	ModelsUnknown Models = "unknown" // it may call some, at a cost that is not known
)

// Unranked reports whether what the target finds has no order of relevance of its own, so that no
// measure of ranks is measurable. It is false for nil.
func (m *MappedService) Unranked() bool {
	if m == nil {
		return false
	}
	_, unranked := m.NotMeasurable["ranks"]
	return unranked
}

// Keys of NotMeasurable: what answers rest on, and which retrieval mode ran.
const (
	Passages = "passages"
	Modes    = "modes"
)

// Unretrieved reports whether the target does not say what its answers rest on, so that no measure of
// retrieval is measurable. It is false for nil.
func (m *MappedService) Unretrieved() bool {
	if m == nil {
		return false
	}
	_, unretrieved := m.NotMeasurable[Passages]
	return unretrieved
}

// OmitRanks removes the measures that depend on the order of what was found: all but those of sets at
// top-k.
func (r *Retrieval) OmitRanks() {
	topK := r.Ks[len(r.Ks)-1]
	ranked := func(name string, _ float64) bool {
		measure, depth, _ := strings.Cut(name, "@")
		return measure == "ndcg" || depth != strconv.Itoa(topK)
	}
	maps.DeleteFunc(r.Macro, ranked)
	maps.DeleteFunc(r.Micro, ranked)
	maps.DeleteFunc(r.Intervals, func(name string, _ Interval) bool { return ranked(name, 0) })
	for _, t := range r.ByTag {
		maps.DeleteFunc(t.Macro, ranked)
		maps.DeleteFunc(t.Micro, ranked)
	}
}

// Text returns the target for people.
func (m *MappedService) Text() string {
	text := fmt.Sprintf("mapping %s (%.12s)", m.Mapping, m.SHA256)
	if m.Server != "" {
		text += fmt.Sprintf(" of the MCP server %s %s", m.Server, m.ServerVersion)
	}
	return strings.TrimSpace(text)
}

// NotMeasurableText lists what was not measurable, "" for nothing.
func (m *MappedService) NotMeasurableText() string {
	return strings.Join(slices.Sorted(maps.Keys(m.NotMeasurable)), ", ")
}
