package llm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadPrices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.json")
	read := func(text string) (PriceFile, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadPrices(path)
	}
	got, err := read(`{"date": "2026-11-01",
		"models": {"a/b=c": {"input": 2.5, "output": 10}, "free": {"output": 0, "input": 0}}}`)
	want := PriceFile{"2026-11-01", Prices{"a/b=c": {5 * Dollar / 2, 10 * Dollar}, "free": {}}}
	if err != nil || !cmp.Equal(got, want) {
		t.Error(err, cmp.Diff(want, got))
	}
	for name, tt := range map[string]struct{ text, want string }{
		"empty":         {"", ":1: the file ends too early"},
		"cut":           {"{\n\"date\": \"2026-11-01\",\n", ":2: the file ends too early"},
		"not JSON":      {"{\n  x", ":2: invalid character 'x'"},
		"list":          {"[]", ":1: the file is not an object"},
		"no models":     {`{"date": "2026-11-01"}`, `:1: the file has no key "models"`},
		"no date":       {`{"models": {}}`, `:1: the file has no key "date"`},
		"bad date":      {"{\n\"date\": \"soon\"}", `:2: "date" is not a day`},
		"date number":   {`{"date": 2026}`, `:1: "date" is not a day`},
		"unknown key":   {"{\"date\": \"2026-11-01\",\n\"model\": {}}", `:2: the file has an unknown key "model"`},
		"unknown price": {"{\"models\": {\n\"m\": {\n\"in\": 1}}}", `:3: model "m" has an unknown key "in"`},
		"no output":     {"{\"models\": {\n\"m\": {\"input\": 1}}}", `:2: model "m" has no key "output"`},
		"text price":    {`{"models": {"m": {"input": "1"}}}`, `:1: "input" of model "m" is not a number`},
		"negative":      {`{"models": {"m": {"input": -1}}}`, `:1: "-1" is not an amount in dollars`},
		"exponent":      {`{"models": {"m": {"input": 1e3}}}`, `:1: "1e3" is not an amount in dollars`},
		"model twice":   {"{\"models\": {\"m\": {\"input\": 1, \"output\": 1},\n\"m\": {}}}", `:2: models has key "m" twice`},
		"key twice":     {`{"date": "2026-11-01", "date": "2026-11-01"}`, `:1: the file has key "date" twice`},
		"no name":       {`{"models": {"": {"input": 1, "output": 1}}}`, ":1: a model has no name"},
		"second value":  {`{"date": "2026-11-01", "models": {}} {}`, ":1: there is something after"},
		"model is list": {`{"models": {"m": []}}`, `:1: model "m" is not an object`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(tt.text)
			if err == nil || !strings.Contains(err.Error(), path+tt.want) || !strings.Contains(err.Error(), "dollars per million") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := ReadPrices(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add([]byte(priceFileForm))
	f.Add([]byte("{\n\"models\": {\"m\": {\"input\": 1, \"output\": -1}}}"))
	f.Add([]byte(`{"date": "2026-11-01", "models": {}} x`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, line, err := parsePrices(data)
		if err != nil && (line < 1 || line > 1+strings.Count(string(data), "\n")) {
			t.Fatalf("line %d: %v", line, err)
		}
		for model, p := range got.Prices {
			if model == "" || p.Input < 0 || p.Output < 0 {
				t.Fatalf("%q: %v", model, p)
			}
		}
		if err == nil && len(got.Date) != len("2026-11-01") {
			t.Fatalf("date %q", got.Date)
		}
	})
}
