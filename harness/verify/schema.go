package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"evalctl/docs"
)

const (
	resultURN = "urn:evalctl:result:1"
	sweepURN  = "urn:evalctl:sweep:1"
)

// schemas are the compiled schemas: of the head of a result file, of a question, of a sweep file.
type schemas struct{ head, question, sweep *jsonschema.Schema }

var compiled = sync.OnceValue(func() schemas {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for file, urn := range map[string]string{
		"result.schema.json": resultURN, "sweep.schema.json": sweepURN,
	} {
		data, err := docs.Schemas.ReadFile(file)
		var doc any
		if err == nil {
			doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
		}
		if err == nil {
			err = c.AddResource(urn, doc)
		}
		if err != nil {
			panic(fmt.Sprintf("schema %s: %v", file, err)) // it is part of this program
		}
	}
	return schemas{
		head: c.MustCompile(resultURN), question: c.MustCompile(resultURN + "#/$defs/question"),
		sweep: c.MustCompile(sweepURN),
	}
})

// violations calls add with each violation of a schema by a value.
func violations(s *jsonschema.Schema, path string, v any, add func(path, problem string)) {
	err := s.Validate(v)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return
	}
	var found, fallout []*jsonschema.ValidationError
	leaves(invalid, func(e *jsonschema.ValidationError) {
		if _, ok := e.ErrorKind.(*kind.FalseSchema); ok {
			fallout = append(fallout, e)
		} else {
			found = append(found, e)
		}
	})
	if len(found) == 0 { // otherwise valid keys count as unknown too
		found = fallout
	}
	for _, e := range found {
		at := path
		for _, key := range e.InstanceLocation {
			if i, err := strconv.Atoi(key); err == nil && i >= 0 {
				at += "[" + key + "]"
			} else {
				at += step(key)
			}
		}
		printer := message.NewPrinter(language.English)
		problem := e.ErrorKind.LocalizedString(printer)
		if _, ok := e.ErrorKind.(*kind.FalseSchema); ok {
			problem = "unknown key"
		}
		add(at, "the schema does not allow it: "+problem)
	}
}

// leaves calls each with the causes of e that have no further causes.
func leaves(e *jsonschema.ValidationError, each func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		each(e)
	}
	for _, c := range e.Causes {
		leaves(c, each)
	}
}

// checkHead checks a result file without its questions against the schema.
func (r *Report) checkHead(members map[string]json.RawMessage) error {
	head := map[string]any{"questions": []any{}}
	for key, raw := range members {
		v, err := decode(raw)
		if err != nil {
			return fmt.Errorf("read %s: %s: %w", r.Path, key, err)
		}
		head[key] = v
	}
	violations(compiled().head, "", head, func(path, problem string) {
		r.add(Difference{Path: orRoot(path), Problem: problem})
	})
	return nil
}

func orRoot(path string) string {
	if strings.HasPrefix(path, ".") {
		return path
	}
	return "." + path
}
