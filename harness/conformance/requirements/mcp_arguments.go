package requirements

import (
	_ "embed" // tools.json
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// toolSchema has the rules of a tool's arguments (spec 4.1), in the terms of JSON Schema.
type toolSchema struct {
	Name       string            `json:"name"`
	Required   []string          `json:"required"`
	Properties map[string]object `json:"properties"`
}

//go:embed tools.json
var toolsJSON []byte

// toolSchemas are the eleven tools.
var toolSchemas = sync.OnceValue(func() (all []toolSchema) {
	if err := json.Unmarshal(toolsJSON, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// hasBrain reports whether a tool has the argument brain.
func hasBrain(tool string) bool {
	return !slices.ContainsFunc(toolSchemas(), func(t toolSchema) bool { return t.Name == tool && t.Properties["brain"] == nil })
}

// toolID returns a tool's name in the ids of checks.
func toolID(tool string) string {
	return strings.ReplaceAll(strings.TrimPrefix(tool, "memory_"), "_", "-")
}
