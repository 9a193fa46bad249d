package requirements

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/internal/spelling"
)

// matcher checks a JSON value.
type matcher func(any) error

// matchField requires an object to have a field that matches.
func matchField(o object, name string, m matcher) error {
	got, ok := o[name]
	if _, isCamel := o[spelling.Camel(name)]; !ok && isCamel && name != spelling.Camel(name) {
		return onEveryRoute(notSnakeCase, "want the field %q, got %s", name, excerpt(encode(o)))
	}
	if !ok {
		return because(fmt.Sprintf("has no field %q", name), "want the field %q, got %s", name, excerpt(encode(o)))
	}
	if err := m(got); err != nil {
		return inField(name, err)
	}
	return nil
}

// each judges objects in turn, until one is wrong.
func each(list []object, judge func(object) error) error {
	for _, o := range list {
		if err := judge(o); err != nil {
			return err
		}
	}
	return nil
}

// hasField is matchField for functions that judge objects.
func hasField(name string, m matcher) func(object) error {
	return func(o object) error { return matchField(o, name, m) }
}

// listsBrain requires that an array contains a brain, or does not.
func listsBrain(id string, want bool) matcher {
	return func(got any) error {
		items, _ := got.([]any)
		has := slices.ContainsFunc(items, func(item any) bool { o, _ := item.(object); return o["id"] == id })
		switch {
		case want && !has:
			return because("lacks a brain", "want the brain %s in the list, got %s", id, excerpt(encode(got)))
		case has && !want:
			return because("lists a brain that it must not", "want no brain %s in the list, got %s", id, excerpt(encode(got)))
		}
		return nil
	}
}

// both requires a value to match twice.
func both(a, b matcher) matcher {
	return func(got any) error { return errors.Join(a(got), b(got)) }
}

// notSnakeCase is the cause of every key in camelCase.
const notSnakeCase = "has keys that are not in snake_case"

// inField returns the error for a field's value. Its cause names the field and any inner one.
func inField(name string, err error) error {
	f, ok := errors.AsType[failure](err)
	if !ok {
		f.cause.What = fmt.Sprintf("has a wrong %q", name)
	} else if f.seen == nil && !f.cause.Wide {
		f.cause.What += fmt.Sprintf(" in %q", name)
	}
	f.error = fmt.Errorf("%s: %w", name, err)
	return f
}

func equals(want any) matcher {
	return func(got any) error {
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("want %v, got %s", want, excerpt(encode(got)))
		}
		return nil
	}
}

// match returns a matcher for values of one type that satisfy holds; what describes them.
func match[T any](what string, holds func(T) bool) matcher {
	return func(got any) error {
		if v, ok := got.(T); !ok || !holds(v) {
			return fmt.Errorf("want %s, got %s", what, excerpt(encode(got)))
		}
		return nil
	}
}

func always[T any](T) bool { return true }

var (
	isString = match("a string", always[string])
	isNumber = match("a number", always[float64])
	isBool   = match("true or false", always[bool])
	isArray  = match("an array", always[[]any])
	isObject = match("an object", always[object])

	isNonEmptyString = match("a non-empty string", func(s string) bool { return s != "" })
	isNonEmptyArray  = match("a non-empty array", func(list []any) bool { return len(list) > 0 })

	isCount = match("a whole number from 0", func(n float64) bool { return n >= 0 && n == float64(int64(n)) })
	isSlug  = match("1 to 64 of a-z, 0-9 and -", pattern(`^[a-z0-9][a-z0-9-]{0,63}$`))

	// isTimestamp requires an offset.
	isTimestamp = match("an ISO 8601 timestamp", func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	})
	// isUTCMillis matches FileInfo.mtime (spec 2).
	isUTCMillis = match("an ISO 8601 timestamp in UTC with milliseconds", func(s string) bool {
		at, err := time.Parse("2006-01-02T15:04:05.000Z07:00", s)
		_, offset := at.Zone()
		return err == nil && offset == 0
	})
)

func matchesPattern(expr string) matcher {
	return match("a string that matches "+expr, pattern(expr))
}

// pattern returns a function that reports whether a string matches expr. It compiles expr on first
// use, because compiling all patterns takes longer than most commands.
func pattern(expr string) func(s string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	return func(s string) bool { return compiled().MatchString(s) }
}

// snakeCase requires all object keys in a value, at any depth, to be in snake_case. The keys of
// metadata are the user's own and may have any case.
func snakeCase(got any) error {
	switch v := got.(type) {
	case object:
		for name, inner := range v {
			if strings.ToLower(name) != name {
				return onEveryRoute(notSnakeCase, "want keys in snake_case, got %q", name)
			}
			if name == "metadata" {
				continue
			}
			if err := snakeCase(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := snakeCase(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// span returns two offsets, in code points, from the fields of an object. They must be whole
// numbers with 0 <= start <= end.
func span(o object, startField, endField string) (start, end int, err error) {
	a, okA := o[startField].(float64)
	b, okB := o[endField].(float64)
	if !okA || !okB || a < 0 || b < a || a != float64(int(a)) || b != float64(int(b)) {
		return 0, 0, fmt.Errorf("want whole numbers with 0 <= %s <= %s, got %v and %v",
			startField, endField, o[startField], o[endField])
	}
	return int(a), int(b), nil
}
