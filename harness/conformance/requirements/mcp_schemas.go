package requirements

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
)

func mcpSchemaChecks() []check {
	checks := []check{
		must("mcp-tools", "4.1", "The server lists the eleven tools.", listingTools(func(all []mcpclient.Tool) error {
			for _, want := range toolSchemas() {
				if !slices.ContainsFunc(all, func(t mcpclient.Tool) bool { return t.Name == want.Name }) {
					return fmt.Errorf("want the tool %s among %d tools", want.Name, len(all))
				}
			}
			return nil
		})),
		should("mcp-descriptions", "1", "Each of the eleven tools has a description.",
			listingTools(func(all []mcpclient.Tool) error {
				for _, t := range all {
					if strings.HasPrefix(t.Name, "memory_") && strings.TrimSpace(t.Description) == "" {
						return fmt.Errorf("want a description of %s", t.Name)
					}
				}
				return nil
			})),
	}
	for _, t := range toolSchemas() {
		checks = append(checks, must("mcp-schema-"+toolID(t.Name), "4.1",
			"The input schema of "+t.Name+" has the arguments and limits of the specification.",
			listingTools(func(all []mcpclient.Tool) error { return t.compare(all) })))
	}
	return checks
}

// listingTools lists the tools and judges them.
func listingTools(judge func([]mcpclient.Tool) error) step {
	return withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
		c.remember(&exchange{route: "tools/list", line: "tools/list"})
		all, err := m.Tools(ctx)
		if err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		if err := judge(all); err != nil {
			return against(fmt.Errorf("tools/list: %w", err))
		}
		return nil
	})
}

func (t toolSchema) compare(all []mcpclient.Tool) error {
	i := slices.IndexFunc(all, func(tool mcpclient.Tool) bool { return tool.Name == t.Name })
	if i < 0 {
		return unjudgedError{ReasonSetup, fmt.Errorf("there is no tool %s", t.Name)}
	}
	var schema object
	if err := json.Unmarshal(all[i].InputSchema, &schema); err != nil || schema == nil {
		return fmt.Errorf("want a schema of %s, got %s", t.Name, excerpt(all[i].InputSchema))
	}
	if err := matchField(schema, "type", equals("object")); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	if err := sameSet("required", stringsOf(schema["required"]), t.Required); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	properties, _ := schema["properties"].(object)
	if err := sameSet("arguments", slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(t.Properties))); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	for name, rules := range t.Properties {
		if err := hasRules(plain(properties[name], schema), rules, schema); err != nil {
			return fmt.Errorf("%s: %s: %w", t.Name, name, err)
		}
	}
	return nil
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, item := range list {
		s, _ := item.(string)
		all = append(all, s)
	}
	return all
}

func sameSet(what string, got, want []string) error {
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		return fmt.Errorf("want the %s %q, got %q", what, want, got)
	}
	return nil
}

// plain normalizes a schema: it resolves references into the tool's schema, and removes single
// alternatives and null as an additional type, which only makes an argument optional.
func plain(value any, root object) object {
	s, _ := value.(object)
	for range 8 { // references may be circular
		others := []object{}
		if ref, ok := s["$ref"].(string); ok {
			name, _ := strings.CutPrefix(ref, "#/$defs/")
			defs, _ := root["$defs"].(object)
			target, _ := defs[name].(object)
			others = append(others, target)
		}
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			alternatives, _ := s[keyword].([]any)
			alternatives = slices.DeleteFunc(slices.Clone(alternatives), isNull)
			if len(alternatives) == 1 {
				only, _ := alternatives[0].(object)
				others = append(others, only)
			}
		}
		if len(others) == 0 {
			break
		}
		joined := maps.Clone(s)
		for _, keyword := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
			delete(joined, keyword)
		}
		for _, other := range others {
			maps.Copy(joined, other)
		}
		s = joined
	}
	if types, ok := s["type"].([]any); ok {
		types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
		if len(types) == 1 {
			s = maps.Clone(s)
			s["type"] = types[0]
		}
	}
	return s
}

func isNull(alternative any) bool {
	s, _ := alternative.(object)
	return s["type"] == "null"
}

// hasRules compares JSON values. A missing default is accepted if the tool's description has it,
// and the order of an enum is ignored. root is the tool's schema.
func hasRules(got, want, root object) error {
	for rule, v := range want {
		actual, ok := got[rule]
		switch rule {
		case "default":
			if !ok {
				continue
			}
		case "enum", "required":
			if err := sameSet(rule, stringsOf(actual), stringsOf(v)); err != nil {
				return err
			}
			continue
		case "items":
			if err := hasRules(plain(actual, root), v.(object), root); err != nil {
				return fmt.Errorf("items: %w", err)
			}
			continue
		case "properties":
			inner, _ := actual.(object)
			for name, rules := range v.(object) {
				if err := hasRules(plain(inner[name], root), rules.(object), root); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			continue
		}
		if err := equals(v)(actual); err != nil {
			return fmt.Errorf("%s: %w", rule, err)
		}
	}
	return nil
}
