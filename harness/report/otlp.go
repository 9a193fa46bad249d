package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// What follows is the part of the JSON form of OTLP 1 that Traces writes. It differs from other
// JSON of Protocol Buffers: ids are hexadecimal, kinds and codes are numbers. As there, 64-bit
// integers are strings. One export is a line of the file.
type (
	otlpExport struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpResource struct {
		Attributes otlpAttributes `json:"attributes"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	otlpSpan struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		Parent     string         `json:"parentSpanId,omitempty"`
		Name       string         `json:"name"`
		Kind       int            `json:"kind"`
		Start      string         `json:"startTimeUnixNano"`
		End        string         `json:"endTimeUnixNano"`
		Attributes otlpAttributes `json:"attributes"`
		Status     otlpStatus     `json:"status"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	// otlpValue has exactly one of its fields.
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Double *float64   `json:"doubleValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
)

// The kinds of spans and the codes of their status.
const (
	kindInternal = 1
	kindClient   = 3

	statusOK    = 1
	statusError = 2
)

type otlpAttributes []otlpAttribute

// text adds a text unless it is empty.
func (a *otlpAttributes) text(key, value string) {
	if value != "" {
		*a = append(*a, otlpAttribute{key, otlpValue{String: &value}})
	}
}

func (a *otlpAttributes) whole(key string, value int) {
	*a = append(*a, otlpAttribute{key, otlpValue{Int: new(strconv.Itoa(value))}})
}

func (a *otlpAttributes) real(key string, value float64) {
	*a = append(*a, otlpAttribute{key, otlpValue{Double: &value}})
}

func (a *otlpAttributes) flag(key string, value bool) {
	*a = append(*a, otlpAttribute{key, otlpValue{Bool: &value}})
}

// texts adds a list unless it is empty.
func (a *otlpAttributes) texts(key string, values []string) {
	if len(values) == 0 {
		return
	}
	list := &otlpArray{}
	for _, v := range values {
		list.Values = append(list.Values, otlpValue{String: &v})
	}
	*a = append(*a, otlpAttribute{key, otlpValue{Array: list}})
}

// otlpID returns an id of n bytes, a hash of its arguments: a result always has the same ids.
func otlpID(n int, of ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", of))
	return hex.EncodeToString(sum[:n])
}

func unixNano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
