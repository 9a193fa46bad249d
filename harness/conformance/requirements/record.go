package requirements

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// The requests for records. Spec 2 defines the fields, but the endpoints are the reference
// daemon's, so every check of this group is a SHOULD.
func createOf(fields object) request { return brainRequest("POST", "/documents").withJSON(fields) }
func recordOf(id string) request     { return brainRequest("GET", "/documents/"+url.PathEscape(id)) }

// document returns the fields of a document at a path, with more as names and values in turn.
func document(text, path string, more ...any) object {
	return withFields(object{"content": text, "path": path}, more...)
}

// record is the response to the creation of a document.
type record struct {
	id, path string
	fields   object
}

// createThen creates a document and runs steps with its record. Without a record the check cannot
// be judged.
func createThen(fields object, then func(record) step) step {
	return createJudged(fields, nil, then)
}

// createJudged is createThen for a check that is also about the response to the creation.
func createJudged(fields object, about []assertion, then func(record) step) step {
	return func(ctx context.Context, c *client) error {
		res, err := c.get(ctx, createOf(fields), 0, append([]assertion{given2xx}, about...)...)
		if err != nil {
			return err
		}
		r, err := res.record()
		if err != nil {
			return unjudgedError{ReasonSetup, fmt.Errorf("%s: %w", res.request, err)}
		}
		return then(r)(ctx, c)
	}
}

func (r *response) record() (record, error) {
	o, err := r.object()
	if err != nil {
		return record{}, err
	}
	id, _ := o["id"].(string)
	path, _ := o["path"].(string)
	if id == "" || path == "" {
		return record{}, fmt.Errorf("want a record with id and path, got %s", excerpt(r.body))
	}
	return record{id, path, o}, nil
}

// expectRecordField matches a field of a new document's record in the response and, if possible,
// when the record is read back, because a response may repeat a value that was not stored.
func expectRecordField(fields object, name string, m matcher) step {
	return createJudged(fields, []assertion{jsonField(name, m)}, func(r record) step {
		return expect(recordOf(r.id), 0, func(res *response) error {
			if res.status != http.StatusOK {
				return nil // the specification has no such endpoint
			}
			return jsonField(name, m)(res)
		})
	})
}

// singleItem requires an array of one object with a field that matches.
func singleItem(name string, m matcher) matcher {
	return func(got any) error {
		items, _ := got.([]any)
		if len(items) != 1 {
			return fmt.Errorf("want one item, got %s", excerpt(encode(got)))
		}
		o, _ := items[0].(object)
		return matchField(o, name, m)
	}
}
