package verify

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// tolerance is the allowed relative difference of two numbers. The last digits of a figure depend
// on the processor.
const tolerance = 1e-9

// nothing is the smallest number that is distinguished from 0.
const nothing = 1e-12

// decode decodes a JSON value and keeps the text of its numbers.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// missing stands for a key present only in the other value.
type missing struct{}

// walk compares a value with the recomputed one. It calls leaf for each pair except non-empty
// objects and lists.
func walk(path string, file, want any, leaf func(path string, file, want any, same bool)) {
	switch f := file.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok || len(f)+len(w) == 0 {
			break
		}
		for _, key := range keys(f, w) {
			walk(path+step(key), member(f, key), member(w, key), leaf)
		}
		return
	case []any:
		w, ok := want.([]any)
		if !ok || len(f)+len(w) == 0 {
			break
		}
		for i := range max(len(f), len(w)) {
			walk(path+"["+strconv.Itoa(i)+"]", element(f, i), element(w, i), leaf)
		}
		return
	}
	leaf(path, file, want, same(file, want))
}

// same compares two leaves.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && (a == n || closeTo(a, n))
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && len(a)+len(m) == 0
	case []any:
		l, ok := b.([]any)
		return ok && len(a)+len(l) == 0
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

func closeTo(a, b json.Number) bool {
	x, err := a.Float64()
	y, err2 := b.Float64()
	return err == nil && err2 == nil && near(x, y)
}

// near reports whether two numbers are equal except for the last digits.
func near(x, y float64) bool {
	return math.Abs(x-y) <= max(nothing, tolerance*max(math.Abs(x), math.Abs(y)))
}

func keys(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return missing{}
}

func element(l []any, i int) any {
	if i < len(l) {
		return l[i]
	}
	return missing{}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// step returns an object key as part of a path.
func step(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return "[" + text(key) + "]"
}
