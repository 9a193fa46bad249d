package verify

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"evalctl/docs"
)

const (
	resultURN = "urn:evalctl:result:1"
	sweepURN  = "urn:evalctl:sweep:1"
	benchURN  = "urn:evalctl:bench:1"
)

// schemas are the schemas of a result file's head, a question, a sweep file and a bench file.
type schemas struct{ head, question, sweep, bench *schema }

var compiled = sync.OnceValue(func() schemas {
	byID := map[string]*schema{}
	for _, file := range []string{"result.schema.json", "sweep.schema.json", "bench.schema.json"} {
		s := &schema{}
		data, err := docs.Schemas.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, s)
		}
		if err == nil {
			byID[s.ID] = s
			err = s.link(s, byID)
		}
		if err != nil {
			panic(fmt.Sprintf("schema %s: %v", file, err)) // it is part of this program
		}
	}
	result := byID[resultURN]
	return schemas{head: result, question: result.Defs["question"], sweep: byID[sweepURN], bench: byID[benchURN]}
})

// violations calls add for each violation of a schema.
func violations(s *schema, v any, add func(path, problem string)) {
	s.check("", v, func(path, problem string) {
		add(path, "the schema does not allow it: "+problem)
	})
}

// checkHead checks a result file against the schema without its questions.
func (r *Report) checkHead(members map[string]json.RawMessage) error {
	head := map[string]any{}
	for key, raw := range members {
		v, err := decode(raw)
		if err != nil {
			return fmt.Errorf("read %s: %s: %w", r.Path, key, err)
		}
		head[key] = v
	}
	violations(compiled().head, head, func(path, problem string) {
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
