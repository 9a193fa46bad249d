package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
)

// brainlessTools are those without the argument brain.
var brainlessTools = []string{"memory_create_brain", "memory_list_brains"}

// toolSchema has the rules of a tool's arguments (spec 4.1), in the terms of JSON Schema.
type toolSchema struct {
	name      string
	arguments map[string]object
	required  []string
}

func text(least, most int) object {
	return object{"type": "string", "minLength": float64(least), "maxLength": float64(most)}
}

func between(least, most int) object {
	return object{"type": "integer", "minimum": float64(least), "maximum": float64(most)}
}

func oneOf(values ...string) object {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return object{"type": "string", "enum": list}
}

// toolSchemas are the eleven tools.
func toolSchemas() []toolSchema {
	anyText := object{"type": "string"}
	defaulted := func(rule object, v any) object {
		rule = maps.Clone(rule)
		rule["default"] = v
		return rule
	}
	speech := object{"type": "object", "required": []any{"role", "content"}, "properties": object{
		"role":    oneOf("system", "user", "assistant", "tool"),
		"content": object{"type": "string", "minLength": 1.0},
	}}
	slug := text(1, protocol.MaxBrainSlug)
	slug["pattern"] = `^[a-z0-9][a-z0-9-]*$`
	all := []toolSchema{
		{"memory_search", map[string]object{
			"query": text(1, protocol.MaxSearchQuery), "top_k": defaulted(between(1, protocol.MaxSearchTopK), 10.0),
			"scope": oneOf("all", "global", "project", "agent"),
			"sort":  oneOf("relevance", "recency", "relevance_then_recency"),
		}, []string{"query"}},
		{"memory_recall", map[string]object{
			"query": text(1, protocol.MaxSearchQuery), "scope": oneOf("global", "project", "agent"),
			"session_id": anyText, "top_k": between(1, protocol.MaxRecallTopK),
		}, []string{"query"}},
		{"memory_remember", map[string]object{
			"content": text(1, protocol.MaxDocumentContent), "title": text(1, protocol.MaxDocumentTitle),
			"tags": {"type": "array", "maxItems": float64(protocol.MaxDocumentTags),
				"items": text(1, protocol.MaxDocumentTag)},
			"path": text(1, protocol.MaxDocumentPath),
		}, []string{"content"}},
		{"memory_ingest_file", map[string]object{
			"path": anyText, "as": oneOf("markdown", "text", "pdf", "json"),
		}, []string{"path"}},
		{"memory_ingest_url", map[string]object{"url": anyText}, []string{"url"}},
		{"memory_extract", map[string]object{
			"messages": {"type": "array", "minItems": 1.0, "maxItems": float64(protocol.MaxSessionMessages),
				"items": speech},
			"actor_id": anyText, "session_id": anyText,
		}, []string{"messages"}},
		{"memory_reflect", map[string]object{"session_id": {"type": "string", "minLength": 1.0}},
			[]string{"session_id"}},
		{"memory_consolidate", map[string]object{}, nil},
		{"memory_create_brain", map[string]object{
			"name": text(1, protocol.MaxBrainName), "slug": slug,
			"visibility": defaulted(oneOf("private", "tenant", "public"), "private"),
		}, []string{"name"}},
		{"memory_list_brains", map[string]object{}, nil},
		{"memory_ask", map[string]object{
			"query": text(1, protocol.MaxAskQuery), "top_k": between(1, protocol.MaxAskTopK),
		}, []string{"query"}},
	}
	for _, t := range all {
		if !slices.Contains(brainlessTools, t.name) {
			t.arguments["brain"] = anyText
		}
	}
	return all
}

// idOf returns the tool's name in the ids of checks.
func (t toolSchema) idOf() string {
	return strings.ReplaceAll(strings.TrimPrefix(t.name, "memory_"), "_", "-")
}

func mcpSchemaChecks() []check {
	checks := []check{
		must("mcp-tools", "4.1", "The server lists the eleven tools.", listing(func(all []mcpclient.Tool) error {
			for _, want := range toolSchemas() {
				if !slices.ContainsFunc(all, func(t mcpclient.Tool) bool { return t.Name == want.name }) {
					return fmt.Errorf("want the tool %s among %d tools", want.name, len(all))
				}
			}
			return nil
		})),
		should("mcp-descriptions", "1", "Each of the eleven tools has a description.",
			listing(func(all []mcpclient.Tool) error {
				for _, t := range all {
					if strings.HasPrefix(t.Name, "memory_") && strings.TrimSpace(t.Description) == "" {
						return fmt.Errorf("want a description of %s", t.Name)
					}
				}
				return nil
			})),
	}
	for _, t := range toolSchemas() {
		checks = append(checks, must("mcp-schema-"+t.idOf(), "4.1",
			"The input schema of "+t.name+" has the arguments and limits of the specification.",
			listing(func(all []mcpclient.Tool) error { return t.compare(all) })))
	}
	return checks
}

// listing lists the tools and judges them.
func listing(judge func([]mcpclient.Tool) error) step {
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
	i := slices.IndexFunc(all, func(tool mcpclient.Tool) bool { return tool.Name == t.name })
	if i < 0 {
		return unjudged{ReasonSetup, fmt.Errorf("there is no tool %s", t.name)}
	}
	var schema object
	if err := json.Unmarshal(all[i].InputSchema, &schema); err != nil || schema == nil {
		return fmt.Errorf("want a schema of %s, got %s", t.name, excerpt(all[i].InputSchema))
	}
	if err := matchField(schema, "type", equals("object")); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	if err := sameSet("required", stringsOf(schema["required"]), t.required); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	properties, _ := schema["properties"].(object)
	if err := sameSet("arguments", slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(t.arguments))); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	for name, rules := range t.arguments {
		got, _ := properties[name].(object)
		if err := hasRules(got, rules); err != nil {
			return fmt.Errorf("%s: %s: %w", t.name, name, err)
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

// hasRules compares JSON values. A default may be missing: then the tool's description has it. The
// order of an enum is open.
func hasRules(got, want object) error {
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
			inner, _ := actual.(object)
			if err := hasRules(inner, v.(object)); err != nil {
				return fmt.Errorf("items: %w", err)
			}
			continue
		case "properties":
			inner, _ := actual.(object)
			for name, rules := range v.(object) {
				of, _ := inner[name].(object)
				if err := hasRules(of, rules.(object)); err != nil {
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
