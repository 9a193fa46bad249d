package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

func FuzzOpen(f *testing.F) {
	j := sampleJournal(f, f.TempDir())
	_ = j.Close()
	sample := filetest.Read(f, j.Path())
	f.Add(sample)
	f.Add(sample[:len(sample)-20])
	f.Add(bytes.Replace(sample, []byte(`"selected":3`), []byte(`"selected":99999999999`), 1))
	f.Add(bytes.Replace(sample, []byte(`"index":1`), []byte(`"index":0`), 1))
	for _, kind := range []string{"answer", "grade"} { // of unfinished and finished questions
		f.Add(append(slices.Clone(sample), bytes.ReplaceAll(sample[bytes.IndexByte(sample, '\n')+1:], []byte(`"kind":"`+kind), []byte(`"kind":"reopened`))...))
	}
	f.Add(append(slices.Clone(sample), `{"kind":"stopped","index":0,"questions":[0,7]}`+"\n"...))
	f.Add([]byte("{}\n"))
	f.Add(unlinked(sample))
	path := filepath.Join(f.TempDir(), "fuzz.journal")
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Write(t, path, data)
		j, err := Open(path)
		if err != nil {
			if kept, _ := os.ReadFile(path); !bytes.Equal(kept, data) {
				t.Fatal("a rejected journal was changed")
			}
			return
		}
		defer j.Close()
		if len(j.slots) > 1000 {
			return
		}
		total := aggregate.New(5)
		for i := range j.slots {
			if !j.State(i).Answered {
				continue
			}
			r, err := j.Record(i)
			if err != nil {
				t.Fatalf("accepted, but: %v", err)
			}
			total.Add(r)
		}
		var res result.Result
		total.Fill(&res)
		total.Judge(&res)
		var out bytes.Buffer
		if err := j.encode(&out, &res); err != nil || !json.Valid(out.Bytes()) {
			t.Fatalf("accepted, but the result is %v: %s", err, out.Bytes())
		}
		if kept, _ := os.ReadFile(path); !bytes.HasPrefix(data, kept) || int64(len(kept)) != j.end {
			t.Fatal("opening changed more than the incomplete last line")
		}
	})
}
