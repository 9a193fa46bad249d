package record

import (
	"encoding/json"
	"testing"
)

// FuzzParse reads any bytes as the file of a bench: they are rejected, or have figures.
func FuzzParse(f *testing.F) {
	file := simulated(1, 1)
	file.Version, file.Kind = Version, Kind
	file.Blocks = file.Blocks[:4]
	file.Plan.Objectives, file.Plan.Search = "p99<5ms,errors<1%", "p50<5ms"
	file.Probes = []Probe{{Rate: 1, Block: file.Blocks[0]}}
	file.Baseline = &Baseline{Blocks: file.Blocks[:2]}
	data, err := json.Marshal(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema_version":1,"kind":"bench","plan":{"stages":[{}],"sizes":[1]},"targets":[{}],"blocks":[{"seconds":1,"ops":[{"latency":"HISTFAAA"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(read.Figures); err != nil {
			t.Errorf("the figures cannot be encoded: %v", err)
		}
	})
}
