package resultfile

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
)

// FuzzRead checks that what is accepted is valid JSON and reads as encoding/json reads it.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("../testdata/result.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(golden[:len(golden)-9])
	small := `{"planned":2,"counts":{"total":1,"no_gold":1},"questions":[{"id":"a","citations":[{"a":"\"]"}]},{"id":"b","score":0.5}],"identity":{"schema_version":1}}`
	f.Add([]byte(small))
	f.Add(bytes.Replace([]byte(small), []byte(`"id":"b"`), []byte(`"id":"a"`), 1))
	f.Add(bytes.Replace([]byte(small), []byte(`"planned":2`), []byte(`"Planned":2,"plan\u006eed":2`), 1))
	f.Add([]byte(`{"kind":"run"}`))
	f.Add([]byte(`{"cells":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Reader{path: "f", file: bytes.NewReader(data)}
		if r.readHead() != nil || r.checkCounts() != nil {
			return
		}
		var got []result.Record
		for q, err := range r.Questions() {
			if err != nil {
				return
			}
			got = append(got, q)
		}
		var want struct {
			result.Result
			Questions []result.Record `json:"questions"`
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("accepted %q, but %v", data, err)
		}
		if len(want.Questions) == 0 {
			want.Questions = nil
		}
		if diff := cmp.Diff(want.Questions, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(want.Result, r.Result()); diff != "" {
			t.Fatal(diff)
		}
	})
}
