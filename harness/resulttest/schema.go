package resulttest

import (
	"bytes"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"evalctl/docs"
)

// kinds are the files with schemas.
var kinds = []string{"result", "sweep", "bench"}

var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c, compiled := jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	c.AssertFormat()
	for _, kind := range kinds {
		text, err := docs.Schemas.ReadFile(kind + ".schema.json")
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource("urn:evalctl:"+kind+":1", doc); err != nil {
			return nil, err
		}
	}
	for _, kind := range kinds {
		var err error
		if compiled[kind], err = c.Compile("urn:evalctl:" + kind + ":1"); err != nil {
			return nil, err
		}
	}
	return compiled, nil
})

// Validate checks the content of a file against the schema of its kind: result, sweep or bench.
func Validate(kind string, data []byte) error {
	compiled, err := schemas()
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return compiled[kind].Validate(v)
}
