package mapping

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// filler fills the arguments of a call. roles are used wherever a name fits, required only for
// required arguments.
type filler struct {
	roles, required []role
	must            string // the placeholder that must be somewhere
}

// arguments returns the arguments of an offer, or nil if no argument can take the placeholder
// f.must.
func (f filler) arguments(s schema) map[string]any {
	taken := map[string]bool{}
	out := f.object(s, taken)
	if !taken[f.must] {
		f.force(s, out, taken)
	}
	if !taken[f.must] {
		return nil
	}
	return out
}

// object fills the properties of an object that a role matches, and all required ones.
func (f filler) object(s schema, taken map[string]bool) map[string]any {
	out := map[string]any{}
	for _, name := range propertiesOf(s) {
		property, required := s.Properties[name], slices.Contains(s.Required, name)
		roles := f.roles
		if required {
			roles = append(slices.Clone(f.required), roles...)
		}
		if v, ok := fitting(roles, name, property, taken); ok {
			out[name] = v
			continue
		}
		list := property.is("array") && property.Items != nil && len(property.Items.Properties) > 0
		known := slices.Contains(textArguments, folded(name)) && f.must == "{text}"
		free := property.is("array") && property.Items != nil && property.Items.is("object") && !list
		switch {
		case free && required && f.must == "{text}" && !taken[f.must]: // the usual keys
			out[name] = []any{map[string]any{"id": "{name}", "text": "{text}"}}
			taken[f.must] = true
		case required && len(property.Properties) > 0:
			out[name] = f.object(property, taken)
		case list && (required || known && !taken[f.must]) || list && name == "body":
			out[name] = []any{f.object(*property.Items, taken)}
		case required:
			out[name] = f.anything(name, property)
		}
	}
	return out
}

// propertiesOf returns the property names, required ones first.
func propertiesOf(s schema) []string {
	names := slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { _, ok := s.Properties[name]; return !ok })
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// fitting returns the value of the first unused role that matches an argument's name.
func fitting(roles []role, name string, s schema, taken map[string]bool) (any, bool) {
	for _, r := range roles {
		if taken[r.placeholder] || !slices.Contains(r.names, folded(name)) {
			continue
		}
		if v, ok := r.value(s); ok {
			taken[r.placeholder] = true
			return v, true
		}
	}
	return nil, false
}

// aboutOthers are names of arguments that are neither a text nor a query.
var aboutOthers = slices.Concat(idArguments, spaceArguments, dateArguments, titleArguments)

// force assigns the placeholder f.must to the first required text argument, or to the only one.
func (f filler) force(s schema, out map[string]any, taken map[string]bool) {
	names := propertiesOf(s)
	must := f.roles[slices.IndexFunc(f.roles, func(r role) bool { return r.placeholder == f.must })]
	for _, name := range names {
		if !slices.Contains(s.Required, name) && (len(names) > 1 || f.must == idRole.placeholder) || f.must != idRole.placeholder && slices.Contains(aboutOthers, folded(name)) {
			continue
		}
		if v, ok := must.value(s.Properties[name]); ok {
			if given, _ := out[name].(string); strings.HasPrefix(given, "{") {
				continue // of another role
			}
			out[name], taken[f.must] = v, true
			return
		}
	}
}

// anything returns some value that the schema allows.
func (f filler) anything(name string, s schema) any {
	switch {
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return general(s.Enum)
	case s.is("number"), s.is("integer"):
		return 1
	case s.is("boolean"):
		return false
	case s.is("array"):
		return []any{}
	case s.is("object"):
		return map[string]any{}
	case folded(name) == "role":
		return "user"
	}
	return anyText
}

// anyText is the value for a text argument of unknown meaning.
const anyText = "evalctl"

// quotedWord matches a quoted word. Errors list the allowed values this way.
var quotedWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("['\"`]([A-Za-z][A-Za-z0-9_-]*)['\"`]")
})

// jsonTypes are type names, which errors also quote.
var jsonTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// amended returns the call changed as an error message asks: with an allowed value for an argument
// of unknown meaning, or with a missing argument added. It is nil if the message names neither.
func (c *Call) amended(message string) *Call {
	for name, v := range c.Arguments {
		_, after, named := strings.Cut(message, name)
		if v != anyText || !named {
			continue
		}
		var allowed []any
		for _, m := range quotedWord().FindAllStringSubmatch(after, -1) {
			if m[1] != name && m[1] != anyText && !slices.Contains(jsonTypes, m[1]) {
				allowed = append(allowed, m[1])
			}
		}
		if len(allowed) > 0 {
			return c.with(map[string]any{name: general(allowed)})
		}
	}
	for _, word := range wordsAsNames(message) {
		property, ok := c.schema.Properties[word]
		if _, sent := c.Arguments[word]; ok && !sent {
			return c.with(map[string]any{word: filler{}.anything(word, property)})
		}
	}
	return nil
}

// wordsAsNames splits a text into words that may be argument names.
func wordsAsNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// general returns the enumeration value with the most general name, else the first.
func general(values []any) any {
	for _, v := range values {
		if slices.Contains([]string{"general", "note", "other", "fact", "user", "misc"}, fmt.Sprint(v)) {
			return v
		}
	}
	return values[0]
}

// uses reports whether arguments have a placeholder.
func uses(v any, placeholder string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, placeholder)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return uses(v, placeholder) })
	case map[string]any:
		for _, one := range v {
			if uses(one, placeholder) {
				return true
			}
		}
	}
	return false
}

// forms returns the distinct calls of an offer, one for each filler and each choice of options
// that may change the content of the reply.
func (o *offer) forms(fillers []filler, options func(schema) []map[string]any) (calls []*Call) {
	seen := map[string]bool{}
	add := func(c *Call) {
		key, err := json.Marshal(c.Arguments)
		if err == nil && !seen[string(key)] {
			seen[string(key)] = true
			calls = append(calls, c)
		}
	}
	for _, f := range fillers {
		if args := f.arguments(o.schema); args != nil {
			if option := inJSON(o.schema); option != nil {
				add((&Call{o, args}).with(option))
			}
			add(&Call{o, args})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	for _, option := range options(o.schema) {
		add(calls[0].with(option))
	}
	return calls
}

// inJSON returns the option for a reply in JSON, nil if there is none.
func inJSON(s schema) map[string]any {
	for _, name := range propertiesOf(s) {
		for _, v := range s.Properties[name].Enum {
			if text, ok := v.(string); ok && strings.EqualFold(text, "json") {
				return map[string]any{name: v}
			}
		}
	}
	return nil
}

// fullerOptions returns options for fuller search replies and other ways to search.
func fullerOptions(s schema) (all []map[string]any) {
	together := map[string]any{}
	add := func(name string, v any) {
		all = append(all, map[string]any{name: v})
		together[name] = v
	}
	for _, name := range propertiesOf(s) {
		p := s.Properties[name]
		words := wordsIn(name)
		if p.is("boolean") && slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains([]string{"include", "full", "with", "verbose", "detail", "details", "detailed", "return", "raw", "json", "content"}, w)
		}) {
			add(name, true)
		}
	}
	if len(all) > 1 {
		all = append(all, together)
	}
	for _, name := range propertiesOf(s) { // other ways to search
		for _, v := range s.Properties[name].Enum[:min(len(s.Properties[name].Enum), 5)] {
			if slices.ContainsFunc(wordsIn(name), func(w string) bool { return w == "mode" || w == "type" || w == "strategy" }) {
				all = append(all, map[string]any{name: v})
			}
		}
	}
	return all
}

// flippedOptions returns boolean options with their defaults inverted, such as whether a model
// decides what to remember.
func flippedOptions(s schema) (all []map[string]any) {
	for _, name := range propertiesOf(s) {
		if p := s.Properties[name]; p.is("boolean") && len(all) < 4 {
			on, _ := p.Default.(bool)
			all = append(all, map[string]any{name: !on})
		}
	}
	return all
}

// ranked returns the offers whose names contain one of the words, best first.
func ranked(offers []*offer, words []string) []*offer {
	rank := func(o *offer) int {
		best := len(words)
		for _, w := range o.words {
			for at, known := range words {
				if (w == known || strings.TrimSuffix(w, "s") == known) && at < best {
					best = at
				}
			}
		}
		return best
	}
	all := slices.DeleteFunc(slices.Clone(offers), func(o *offer) bool { return rank(o) == len(words) })
	slices.SortStableFunc(all, func(a, b *offer) int { return rank(a) - rank(b) })
	return all
}
