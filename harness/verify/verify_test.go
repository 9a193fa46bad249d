package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/scorer"
)

// files are result files of every kind, as they are written.
func files(tb testing.TB) map[string]string {
	return map[string]string{
		"exact": runFile(tb, 15, 0, scorer.Exact{}), "retrieval": runFile(tb, 12, 0, scorer.Retrieval{TopK: 2}),
		"judge": runFile(tb, 15, 0, judge{}), "stopped": runFile(tb, 15, 13, scorer.Exact{}),
		"replay": replayFile(tb, 15),
	}
}

func verified(tb testing.TB, path string) *Report {
	tb.Helper()
	rep, err := File(path)
	if err != nil {
		tb.Fatal(err)
	}
	return rep
}

func TestWrittenFiles(t *testing.T) {
	for name, path := range files(t) {
		rep := verified(t, path)
		if !rep.OK || rep.Figures < 60 || rep.Questions < 12 {
			t.Errorf("%s: %d figures of %d questions, %+v", name, rep.Figures, rep.Questions, rep.Differences)
		}
	}
}

// mutants calls each with every leaf of a JSON value changed in turn, and with every key and every
// element removed.
func mutants(path string, v any, set func(any), each func(path string)) {
	try := func(other any) {
		set(other)
		each(path)
		set(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, old := range v {
			if path == "" && key == "questions" {
				continue
			}
			at := path + step(key)
			if !scalar(old) {
				delete(v, key)
				each(at)
				v[key] = old
			}
			mutants(at, old, func(other any) { v[key] = other }, each)
		}
	case []any:
		if len(v) > 0 {
			try(v[:len(v)-1])
		}
		for i, old := range v {
			mutants(path+"["+text(i)+"]", old, func(other any) { v[i] = other }, each)
		}
	case json.Number:
		f, _ := v.Float64()
		if strings.Contains(v.String(), ".") {
			try(f * 0.999)
		} else {
			try(f + 1)
		}
	case string:
		try(v + "x")
	case bool:
		try(!v)
	case nil:
		try(1)
	}
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// partial reports whether a value follows only from the questions of a whole run.
func partial(at string) bool {
	return strings.HasPrefix(at, ".brains") || strings.HasPrefix(at, ".identity.dataset.tags")
}

// TestEveryFigure changes every value of the head of result files, one at a time, and checks that
// each change is named, unless the value does not follow from the questions.
func TestEveryFigure(t *testing.T) {
	for name, path := range files(t) {
		if name == "retrieval" || name == "judge" {
			continue // the others have the same keys
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		whole := v.(map[string]any)
		_, questions, _ := bytes.Cut(data, []byte("\n  \"questions\": "))
		whole["questions"] = json.RawMessage(questions[:len(questions)-len("\n}\n")])
		changed := filepath.Join(t.TempDir(), "go.json")
		n := 0
		mutants("", whole, nil, func(at string) {
			data, err := json.Marshal(whole) // the questions as they are
			if err == nil {
				err = os.WriteFile(changed, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
			rep, err := File(changed)
			if err != nil || !follows(at) || at == ".brains" || name == "stopped" && partial(at) {
				return // an error says where
			}
			for _, d := range rep.Differences {
				if strings.HasPrefix(d.Path, at) || strings.HasPrefix(at, d.Path) {
					return
				}
			}
			t.Errorf("%s: a change of %s is not named: %+v", name, at, rep.Differences)
		})
		if n < 150 {
			t.Errorf("%s: only %d changes", name, n)
		}
	}
}
