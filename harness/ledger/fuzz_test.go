package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"evalctl/harness/ledger"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

func FuzzOpen(f *testing.F) {
	l := create(f, new(2*llm.Dollar))
	fill(f, l)
	closed(f, l)
	sample, err := os.ReadFile(l.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add(sample[:len(sample)-20])
	f.Add(bytes.Replace(sample, []byte(`"id":4`), []byte(`"id":9223372036854775807`), 1))
	f.Add(bytes.Replace(sample, []byte(`"usd":0.0000003`), []byte(`"usd":9223372036`), 1))
	f.Add([]byte("{}\n"))
	f.Add(unlinked(sample))
	path := filepath.Join(f.TempDir(), "fuzz.ledger")
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Write(t, path, data)
		l, err := ledger.Open(path)
		if err != nil {
			if kept, _ := os.ReadFile(path); !bytes.Equal(kept, data) {
				t.Fatal("a rejected ledger was changed")
			}
			return
		}
		want := l.Spent()
		closed(t, l)
		l = reopen(t, path)
		if l.Spent() != want {
			t.Fatalf("spent %s, after opening again %s", want, l.Spent())
		}
		closed(t, l)
	})
}
