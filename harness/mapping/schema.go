package mapping

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
)

// schema is the part of a JSON Schema for arguments that is used.
type schema struct {
	Type       types             `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	Default    any               `json:"default"`
	Ref        string            `json:"$ref"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	AllOf      []schema          `json:"allOf"`
	Defs       map[string]schema `json:"$defs"`
	Old        map[string]schema `json:"definitions"` // Defs before draft 2019-09
	Const      json.RawMessage   `json:"const"`
}

// UnmarshalJSON decodes a schema. The schemas true and false are empty here.
func (s *schema) UnmarshalJSON(data []byte) error {
	*s = schema{}
	if len(data) > 0 && data[0] != '{' {
		var any bool
		return json.Unmarshal(data, &any)
	}
	type plain schema
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	s.Enum = slices.DeleteFunc(s.Enum, func(v any) bool { return v == nil })
	var value any
	if len(s.Const) > 0 && json.Unmarshal(s.Const, &value) == nil {
		s.Enum, s.Const = []any{value}, nil
	}
	return nil
}

// types are the types of a schema without null, empty if it allows all.
type types []string

// UnmarshalJSON decodes one type or a list of types.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
	} else if err := json.Unmarshal(data, (*[]string)(t)); err != nil {
		return err
	}
	*t = slices.DeleteFunc(*t, func(name string) bool { return name == "null" })
	return nil
}

func (s schema) is(name string) bool { return slices.Contains(s.Type, name) }

// schemaOf reads the schema of a tool.
func schemaOf(t mcpclient.Tool) (schema, error) {
	s, err := readSchema(t.InputSchema)
	if err != nil || len(s.Type) > 0 && !s.is("object") {
		return s, fmt.Errorf("the tool %s declares an input schema that is not an object schema, so that its "+
			"arguments cannot be checked: %.200s", t.Name, t.InputSchema)
	}
	return s, nil
}

// readSchema reads a schema and resolves its references.
func readSchema(data []byte) (s schema, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	defs := maps.Clone(s.Old)
	if defs == nil {
		defs = map[string]schema{}
	}
	maps.Copy(defs, s.Defs)
	s.Defs, s.Old = nil, nil
	return s.plain(defs, 0), nil
}

// deepest limits the depth of a schema, which may refer to itself.
const deepest = 8

// plain returns the schema with references resolved and alternatives reduced to a usable one.
func (s schema) plain(defs map[string]schema, depth int) schema {
	if depth > deepest {
		return schema{}
	}
	if s.Ref != "" {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(s.Ref[strings.LastIndex(s.Ref, "/")+1:])
		if named, ok := defs[name]; ok && strings.HasPrefix(s.Ref, "#/") {
			s = s.with(named.plain(defs, depth+1))
		}
		s.Ref = ""
	}
	for _, part := range s.AllOf {
		s = s.with(part.plain(defs, depth+1))
	}
	if alternatives := append(slices.Clone(s.AnyOf), s.OneOf...); len(alternatives) > 0 {
		s = s.with(usable(alternatives, defs, depth))
	}
	properties := map[string]schema{}
	for name, p := range s.Properties {
		properties[name] = p.plain(defs, depth+1)
	}
	s.Properties = properties
	if s.Items != nil {
		s.Items = new(s.Items.plain(defs, depth+1))
	}
	s.AnyOf, s.OneOf, s.AllOf = nil, nil, nil
	switch {
	case len(s.Type) > 0:
	case len(s.Properties) > 0:
		s.Type = types{"object"}
	case s.Items != nil:
		s.Type = types{"array"}
	}
	return s
}

// usable returns a string alternative if there is one, else the first that is not null. If there
// are several alternatives, their required properties are dropped, since others may not require
// them.
func usable(alternatives []schema, defs map[string]schema, depth int) (best schema) {
	alternatives = slices.DeleteFunc(slices.Clone(alternatives), func(a schema) bool { return a.Type != nil && len(a.Type) == 0 })
	if len(alternatives) > 1 {
		defer func() { best.Required = nil }()
	}
	for _, a := range alternatives {
		a = a.plain(defs, depth+1)
		if a.is("string") {
			return a
		}
		if len(best.Type) == 0 && len(best.Properties) == 0 {
			best = a
		}
	}
	return best
}

// with returns the schema extended by another.
func (s schema) with(o schema) schema {
	if len(s.Type) == 0 {
		s.Type = o.Type
	}
	if s.Items == nil {
		s.Items = o.Items
	}
	if s.Enum == nil {
		s.Enum = o.Enum
	}
	if s.Default == nil {
		s.Default = o.Default
	}
	s.Required = append(slices.Clone(s.Required), o.Required...)
	properties := map[string]schema{}
	for name, p := range s.Properties {
		properties[name] = p
	}
	for name, p := range o.Properties {
		properties[name] = p
	}
	s.Properties = properties
	return s
}
