package result

// MappedService describes a mapped service: how it was used, and what cannot be measured.
type MappedService struct {
	// Mapping is the name of the mapping, and SHA256 the hash of its file.
	Mapping string `json:"mapping"`
	SHA256  string `json:"mapping_sha256"`
	// Transport is mcp or http.
	Transport string `json:"transport"`
	// Query is question if questions were sent unchanged, and keywords if each of their keywords
	// was searched for separately.
	Query string `json:"query"`
	// Brains is how brains were separated: process, argument, reset or one.
	Brains string `json:"brains"`
	// Server, ServerVersion and Protocol are reported by an MCP server.
	Server        string `json:"server,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	Protocol      string `json:"protocol,omitempty"`
	// Models says who counts the cost of the models that the service calls itself. It is empty in
	// files of earlier versions.
	Models Models `json:"models,omitempty"`
	// Calls counts the calls by tool, or by method and path.
	Calls map[string]int `json:"calls"`
	// NotMeasurable lists what the target does not support or report, with reasons: ask, search,
	// ids, ranks, scores, dates, modes.
	NotMeasurable map[string]string `json:"not_measurable"`
	// ByText counts the passages whose documents were recognized by text, because the target does
	// not name them.
	ByText int `json:"matched_by_text,omitempty"`
	// Findings are findings about the service while it was filled, such as documents that were
	// never found.
	Findings []string `json:"findings,omitempty"`
	// Noise is the output of a server on its standard output besides messages.
	Noise string `json:"noise,omitempty"`
}

// Models says whether the cost of a service's own models is known.
type Models string

// The values of Models.
const (
	ModelsNone    Models = "none"    // by its mapping, it calls none
	ModelsGateway Models = "gateway" // their cost is counted
	ModelsUnknown Models = "unknown" // it may call some, at a cost that is not known
)

// Unranked reports whether the target's results have no order of relevance, so that rank measures
// cannot be computed. It is false for nil.
func (m *MappedService) Unranked() bool {
	if m == nil {
		return false
	}
	_, unranked := m.NotMeasurable["ranks"]
	return unranked
}

// Passages is the key of NotMeasurable for the passages that answers rest on.
const Passages = "passages"

// Unretrieved reports whether the target does not report the passages that its answers rest on, so
// that no retrieval measure can be computed. It is false for nil.
func (m *MappedService) Unretrieved() bool {
	if m == nil {
		return false
	}
	_, unretrieved := m.NotMeasurable[Passages]
	return unretrieved
}
