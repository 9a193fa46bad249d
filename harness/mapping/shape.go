package mapping

import (
	"fmt"
	"maps"
	"slices"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"evalctl/internal/printable"
)

// shaped reports whether a value contains the place that a path selects from. Lists and objects
// must exist, but may be empty.
func shaped(p *jsonpath.Path, v any) bool {
	segments := p.Query().Segments()
	for i, s := range segments {
		if !slices.ContainsFunc(s.Selectors(), selectsAny) {
			continue
		}
		if len(jsonpath.New(spec.Query(true, segments[:i]...)).Select(v)) == 0 {
			return false
		}
		if len(jsonpath.New(spec.Query(true, segments[:i+1]...)).Select(v)) == 0 {
			return true
		}
	}
	return len(p.Select(v)) > 0
}

// selectsAny reports whether a selector selects arbitrary members, as opposed to one name or index.
func selectsAny(s spec.Selector) bool {
	switch s.(type) {
	case spec.Name, spec.Index:
		return false
	}
	return true
}

// keysOf describes a value in an error.
func keysOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "it has the keys " + listed(slices.Sorted(maps.Keys(v)))
	case []any:
		return fmt.Sprintf("it is a list of %d values", len(v))
	case nil:
		return "it is null"
	case string:
		return "it is the text " + printable.Line(v, 80)
	}
	return fmt.Sprintf("it is %v", v)
}
