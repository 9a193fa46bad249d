package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"
	"time"
)

// want judges an answer.
type want func(*response) error

// answers sends a request and judges the answer. A status of 0 is any.
func answers(r request, status int, wants ...want) step {
	return func(ctx context.Context, t *trial) error {
		res, err := t.do(ctx, r)
		if err != nil {
			return err
		}
		return res.judge(status, wants)
	}
}

func (r *response) judge(status int, wants []want) error {
	if status != 0 && r.status != status {
		return fmt.Errorf("want status %d, but %s", status, r)
	}
	for _, w := range wants {
		if err := w(r); err != nil {
			return fmt.Errorf("%s: %w", r.line, err)
		}
	}
	return nil
}

// do sends a request that prepares a check: any 2xx will do.
func do(r request) step { return answers(r, 0, status2xx) }

func put(path, text string) step      { return do(putOf(path, text)) }
func appendTo(path, text string) step { return do(appendOf(path, text)) }
func remove(path string) step         { return do(deleteOf(path)) }
func rename(from, to string) step     { return do(renameOf(from, to)) }
func batch(ops ...object) step        { return do(batchOf(ops...)) }

// reads wants a document to have a text.
func reads(path, text string) step { return answers(readOf(path), 0, status2xx, body(text)) }

// absent wants a document not to exist.
func absent(path string) step { return answers(readOf(path), 404) }

func status2xx(r *response) error {
	if r.status/100 != 2 {
		return fmt.Errorf("want a 2xx status, got %d %s", r.status, clip(r.body))
	}
	return nil
}

// oneOf wants one of some statuses.
func oneOf(statuses ...int) want {
	return func(r *response) error {
		if !slices.Contains(statuses, r.status) {
			return fmt.Errorf("want a status of %v, got %d %s", statuses, r.status, clip(r.body))
		}
		return nil
	}
}

// lacksBrain sends a request about a brain that does not exist: 404, or 403 to a
// token, which may not know which brains there are (spec 5).
func lacksBrain(method, path string, change func(request) request, wants ...want) step {
	return func(ctx context.Context, t *trial) error {
		r := change(root(method, "/v1/brains/conformance-no-such-brain"+path))
		statuses := []int{404}
		if t.target.bearerOf(r) != "" {
			statuses = append(statuses, 403)
		}
		return answers(r, 0, append([]want{oneOf(statuses...)}, wants...)...)(ctx, t)
	}
}

func asItIs(r request) request { return r }

// refused wants anything but success.
func refused(r *response) error {
	if r.status < 400 {
		return fmt.Errorf("want a refusal, got status %d %s", r.status, clip(r.body))
	}
	return nil
}

func body(text string) want {
	return func(r *response) error {
		if string(r.body) != text {
			return fmt.Errorf("want the body %s, got %s", clip([]byte(text)), clip(r.body))
		}
		return nil
	}
}

// mediaType wants one of some media types; parameters do not matter.
func mediaType(types ...string) want {
	return func(r *response) error {
		got, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
		if err != nil || !slices.Contains(types, got) {
			return fmt.Errorf("want Content-Type %s, got %q", strings.Join(types, " or "), r.header.Get("Content-Type"))
		}
		return nil
	}
}

// cacheControl wants a directive.
func cacheControl(directive string) want {
	return func(r *response) error {
		for _, line := range r.header.Values("Cache-Control") {
			for d := range strings.SplitSeq(line, ",") {
				if strings.EqualFold(strings.TrimSpace(d), directive) {
					return nil
				}
			}
		}
		return fmt.Errorf("want Cache-Control: %s, got %q", directive, r.header.Values("Cache-Control"))
	}
}

// without wants a header not to be there.
func without(name string) want {
	return func(r *response) error {
		if v := r.header.Values(name); len(v) > 0 {
			return fmt.Errorf("want no %s, got %q", name, v)
		}
		return nil
	}
}

// value judges a value of a JSON body.
type value func(any) error

// key wants the body to be a JSON object, and judges the value under a key.
func key(name string, v value) want {
	return func(r *response) error {
		o, err := r.object()
		if err != nil {
			return err
		}
		return judgeKey(o, name, v)
	}
}

func judgeKey(o object, name string, v value) error {
	got, ok := o[name]
	if !ok {
		return fmt.Errorf("want the key %q, got %s", name, clip(encode(o)))
	}
	if err := v(got); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *response) object() (object, error) {
	var o object
	if err := json.Unmarshal(r.body, &o); err != nil || o == nil {
		return nil, fmt.Errorf("want a JSON object, got %s", clip(r.body))
	}
	return o, nil
}

func is(want any) value {
	return func(got any) error {
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("want %v, got %s", want, clip(encode(got)))
		}
		return nil
	}
}

func isText(got any) error {
	if s, ok := got.(string); !ok || s == "" {
		return fmt.Errorf("want a text, got %s", clip(encode(got)))
	}
	return nil
}

func isString(got any) error {
	if _, ok := got.(string); !ok {
		return fmt.Errorf("want a string, got %s", clip(encode(got)))
	}
	return nil
}

func isNumber(got any) error {
	if _, ok := got.(float64); !ok {
		return fmt.Errorf("want a number, got %s", clip(encode(got)))
	}
	return nil
}

func isBool(got any) error {
	if _, ok := got.(bool); !ok {
		return fmt.Errorf("want true or false, got %s", clip(encode(got)))
	}
	return nil
}

func isArray(got any) error {
	if _, ok := got.([]any); !ok {
		return fmt.Errorf("want an array, got %s", clip(encode(got)))
	}
	return nil
}

func isObject(got any) error {
	if _, ok := got.(object); !ok {
		return fmt.Errorf("want an object, got %s", clip(encode(got)))
	}
	return nil
}

// isTime wants an ISO 8601 timestamp with an offset.
func isTime(got any) error {
	s, _ := got.(string)
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf("want an ISO 8601 timestamp, got %s", clip(encode(got)))
	}
	return nil
}

// isUTCMillis wants the form of FileInfo.mtime (spec 2).
func isUTCMillis(got any) error {
	s, _ := got.(string)
	at, err := time.Parse("2006-01-02T15:04:05.000Z07:00", s)
	if _, offset := at.Zone(); err != nil || offset != 0 {
		return fmt.Errorf("want an ISO 8601 timestamp in UTC with milliseconds, got %s", clip(encode(got)))
	}
	return nil
}

// snakeCase wants no key in camelCase, at any depth below maps and arrays.
func snakeCase(got any) error {
	switch v := got.(type) {
	case object:
		for name, inner := range v {
			if strings.ToLower(name) != name {
				return fmt.Errorf("want keys in snake_case, got %q", name)
			}
			if name == "metadata" { // its keys are the user's
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

func inSnakeCase(r *response) error {
	o, err := r.object()
	if err != nil {
		return err
	}
	return snakeCase(o)
}

// problem wants a Problem body (spec 2 and 7.1): an object whose fields, all
// optional, have their types.
func problem(r *response) error {
	o, err := r.object()
	if err != nil {
		return fmt.Errorf("want a Problem body: %w", err)
	}
	known := false
	for name, v := range map[string]value{"status": isNumber, "title": isString, "detail": isString, "code": isString} {
		if got, ok := o[name]; ok {
			known = true
			if err := v(got); err != nil {
				return fmt.Errorf("want a Problem body: %s: %w", name, err)
			}
		}
	}
	if !known {
		return errors.New("want a Problem body with status, title, detail or code, got " + clip(r.body))
	}
	return nil
}
