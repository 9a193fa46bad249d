package jsonobj

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// isJSON is json.Valid by the functions that scan.
func isJSON(data []byte) bool {
	rest, ok := skipValue(data, maxDepth)
	return ok && len(skipSpace(rest)) == 0
}

// TestScanAgreesWithStandardLibrary builds texts out of pieces of JSON, most of them broken.
func TestScanAgreesWithStandardLibrary(t *testing.T) {
	pieces := []string{
		"{", "}", "[", "]", ",", ":", `"`, `"a"`, `\`, `\"`, `\u00eF`, `\u00g0`, `\x`, "\x01", "\xff", "é",
		"0", "1", "-", ".", "e", "E", "+", "12.5e-3", "true", "false", "null", "nul", " ", "\n", "\t", "\r", "\f",
		`{"a":1,"b":[]}`, `[1,"x",null]`,
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		if got, want := isJSON([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Fatalf("%q: got %v, the standard library says %v", text, got, want)
		}
	})
}

// TestScanLimitsNesting holds that a text cannot exhaust the stack.
func TestScanLimitsNesting(t *testing.T) {
	for depth := maxDepth - 1; depth <= maxDepth+1; depth++ {
		for _, text := range []string{
			strings.Repeat("[", depth) + strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth) + "0" + strings.Repeat("}", depth),
		} {
			if got, want := isJSON([]byte(text)), json.Valid([]byte(text)); got != want {
				t.Errorf("depth %d: got %v, the standard library says %v", depth, got, want)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,"\u00ef\n",null,true,false]}`, `[0,01]`, `"\ud800"`, ` {} `, `-`, `1.`, `1e`, `{"a":}`, `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := isJSON(data), json.Valid(data); got != want {
			t.Fatalf("%q: got %v, the standard library says %v", data, got, want)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"id":"q12","question":"question 12","expected_substrings":["answer 12"],"reference_answer":"answer 12","tags":["t0"]}`)
	for name, valid := range map[string]func([]byte) bool{"here": isJSON, "encoding-json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if !valid(line) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
