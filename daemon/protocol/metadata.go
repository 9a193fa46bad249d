package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Metadata is the metadata of a request: strings, numbers, booleans and nil. A decoded number is
// a float64. It is a json.Number if a float64 cannot hold it, or would change the digits of a whole
// one, which may be an id.
type Metadata map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode((*map[string]any)(m)); err != nil {
		return err // the decoder of the request adds the name of the field
	}
	for key, value := range *m {
		if n, ok := value.(json.Number); ok {
			(*m)[key] = exact(n)
		}
	}
	return nil
}

// exact returns a number as a float64, or unchanged if that is to keep its digits.
func exact(n json.Number) any {
	f, err := n.Float64()
	whole := !strings.ContainsAny(string(n), ".eE")
	if err != nil || whole && strconv.FormatFloat(f, 'f', -1, 64) != string(n) {
		return n
	}
	return f
}
