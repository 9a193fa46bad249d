package requirements

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// succeeds requires a call to succeed.
func succeeds(r *reply) error {
	if r.isError() {
		return errors.New(r.String())
	}
	return nil
}

// fails requires an error.
func fails(r *reply) error {
	if !r.isError() {
		return fmt.Errorf("want an error, but %s", r)
	}
	return nil
}

// failsWith requires an error with a code.
func failsWith(code string) func(*reply) error {
	return func(r *reply) error {
		if !r.hasCode(code) {
			return onEveryRoute("returned no error with the code "+code, "want an error with the code %s, but %s", code, r)
		}
		return nil
	}
}

// ifGiven judges the reply to a call that succeeded.
func ifGiven(judge func(*reply) error) func(*reply) error {
	return func(r *reply) error {
		if err := r.given(); err != nil {
			return err
		}
		return judge(r)
	}
}

// payloadHas judges the structured content of a call that succeeded.
func payloadHas(fields map[string]matcher) func(*reply) error {
	return ifGiven(func(r *reply) error { return matchFields(r.payload, fields) })
}

// matchFields matches fields in order of their names, so that equal answers give the same finding.
func matchFields(o object, fields map[string]matcher) error {
	if o == nil {
		return errors.New("want an object as structured content, got none")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := matchField(o, name, fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// eachIn matches the fields of every object in an array.
func eachIn(fields map[string]matcher) matcher {
	return func(got any) error {
		list, ok := got.([]any)
		if !ok {
			return fmt.Errorf("want an array, got %s", excerpt(encode(got)))
		}
		items, err := objects(list)
		if err != nil {
			return err
		}
		return each(items, func(o object) error { return matchFields(o, fields) })
	}
}

// nonEmpty requires an array to have an element, and then matches it.
func nonEmpty(m matcher) matcher {
	return func(got any) error {
		if err := isNonEmptyArray(got); err != nil {
			return err
		}
		return m(got)
	}
}
