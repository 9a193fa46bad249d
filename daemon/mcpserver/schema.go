package mcpserver

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemaFiles are the canonical definitions of the tools: name, description, input schema and
// annotations (spec 4.1).
//
//go:embed schemas/*.json
var schemaFiles embed.FS

// definition is one file of schemaFiles.
type definition struct {
	tool  *mcp.Tool
	input *schema
}

// definitions are the files of schemaFiles by the names of their tools.
var definitions = sync.OnceValue(func() map[string]definition { return mustLoad(schemaFiles) })

func mustLoad(files fs.FS) map[string]definition {
	all, err := load(files)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return all
}

func load(files fs.FS) (map[string]definition, error) {
	names, err := fs.Glob(files, "schemas/*.json")
	if err != nil {
		return nil, err
	}
	all := map[string]definition{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		d, err := parseDefinition(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if d.tool.Name+".json" != path.Base(name) {
			return nil, fmt.Errorf("%s defines the tool %q", name, d.tool.Name)
		}
		all[d.tool.Name] = d
	}
	return all, nil
}

func parseDefinition(data []byte) (definition, error) {
	var file struct {
		Name        string               `json:"name"`
		Description string               `json:"description"`
		InputSchema json.RawMessage      `json:"inputSchema"`
		Annotations *mcp.ToolAnnotations `json:"annotations"`
	}
	if err := strictly(data, &file); err != nil {
		return definition{}, err
	}
	var input schema
	if err := strictly(file.InputSchema, &input); err != nil {
		return definition{}, err
	}
	if err := input.compile(); err != nil {
		return definition{}, err
	}
	return definition{
		tool: &mcp.Tool{
			Name: file.Name, Description: file.Description,
			InputSchema: file.InputSchema, Annotations: file.Annotations,
		},
		input: &input,
	}, nil
}

// strictly decodes JSON and rejects unknown keys: a schema with a keyword that this package does
// not check must not be used.
func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
