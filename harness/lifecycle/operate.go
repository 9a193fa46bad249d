package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// abilities are what a service needs for the operations that all services may have.
var abilities = map[dataset.Op]target.Ability{
	dataset.OpPut: target.Put, dataset.OpAppend: target.Append, dataset.OpDelete: target.Delete,
	dataset.OpRename: target.Rename, dataset.OpRemember: target.Put,
}

// lacks says which operation of a question the service is known to lack, before any is made. It is
// empty if there is none.
func (r *Run) lacks(q dataset.Question) string {
	_, protocol := r.Target.Service.(*target.Endpoint)
	for _, o := range q.Before {
		ability, common := abilities[o.Op]
		switch {
		case o.Op == dataset.OpRestart && r.Restart == nil:
			return "restart: evalctl did not start the target, so it cannot restart it"
		case common:
			if err := target.Needs(r.Target.Service, ability); err != nil {
				return fmt.Sprintf("%s: %v", o.Op, err)
			}
		case o.Op != dataset.OpRestart && !protocol:
			return fmt.Sprintf("%s: only a daemon that speaks the protocol has sessions", o.Op)
		}
		if o.In(q.Brain) != q.Brain {
			if err := target.Needs(r.Target.Service, target.Brains); err != nil {
				return fmt.Sprintf("%s in brain %s: %v", o.Op, o.Brain, err)
			}
		}
	}
	return ""
}

// operate makes one operation in the brain with this id. The error is target.ErrLacks if the service
// does not have it.
func (r *Run) operate(ctx context.Context, id string, o dataset.Operation) error {
	e, ok := r.Target.Service.(*target.Endpoint)
	if !ok {
		return r.store().Apply(ctx, id, changeOf(o))
	}
	s := speaker{endpoint: e, dialect: r.Target.Dialect, brain: target.BrainPath(id)}
	return s.operate(ctx, o)
}

// changeOf returns an operation on a document as any service makes it. One that is remembered
// without a path is named after its text.
func changeOf(o dataset.Operation) target.Change {
	c := target.Change{Do: abilities[o.Op], Path: o.Path, To: o.To}
	switch o.Op {
	case dataset.OpPut, dataset.OpRemember:
		c.Text = o.Document()
	case dataset.OpAppend:
		c.Text = []byte(o.Text)
	}
	if c.Path == "" {
		c.Path = fmt.Sprintf("remembered-%x.md", result.IDsSHA256(func(yield func(string) bool) { yield(o.Text) })[:12])
	}
	return c
}

// speaker makes operations over the protocol.
type speaker struct {
	endpoint *target.Endpoint
	dialect  result.Dialect
	brain    string // the path of its URL
}

func (s speaker) operate(ctx context.Context, o dataset.Operation) error {
	path := "/documents?path=" + url.QueryEscape(result.SeedRoot+o.Path)
	switch o.Op {
	case dataset.OpPut:
		return s.send(ctx, http.MethodPut, path, protocol.TypeBytes, o.Document())
	case dataset.OpAppend:
		return s.send(ctx, http.MethodPost, strings.Replace(path, "?", "/append?", 1), protocol.TypeBytes, []byte(o.Text))
	case dataset.OpDelete:
		return s.ofDocument(ctx, o, s.send(ctx, http.MethodDelete, path, "", nil))
	case dataset.OpRename:
		body := map[string]any{"from": result.SeedRoot + o.Path, "to": result.SeedRoot + o.To}
		return s.ofDocument(ctx, o, s.json(ctx, "/documents/rename", body))
	case dataset.OpRemember:
		body := map[string]any{"content": string(dataset.Operation{Text: o.Text}.Document())}
		if o.Title != "" {
			body["title"] = o.Title
		}
		if o.Path != "" {
			body["path"] = result.SeedRoot + o.Path
		}
		return lacking(s.json(ctx, "/documents", body))
	case dataset.OpMessage:
		body := map[string]any{"role": o.Role, "content": o.Text}
		if o.Speaker != "" {
			body["name"] = o.Speaker
		}
		if o.Date != "" {
			body["created_at"] = timeOf(o.Date)
		}
		return lacking(s.json(ctx, s.session(o)+"/messages", body))
	case dataset.OpReflect:
		return lacking(s.json(ctx, s.session(o)+"/reflect", map[string]any{}))
	case dataset.OpConsolidate:
		err := lacking(s.json(ctx, "/consolidate", map[string]any{}))
		if errors.Is(err, target.ErrLacks) {
			err = lacking(s.json(ctx, "/compile", map[string]any{}))
		}
		return err
	}
	return fmt.Errorf("%w: %s", target.ErrLacks, o.Op)
}

func (s speaker) session(o dataset.Operation) string { return "/sessions/" + url.PathEscape(o.Session) }

// timeOf returns a date as a time, noon for a day.
func timeOf(date string) string {
	if _, err := time.Parse(time.DateOnly, date); err == nil {
		return date + "T12:00:00Z"
	}
	return date
}

func (s speaker) json(ctx context.Context, path string, body map[string]any) error {
	return s.send(ctx, http.MethodPost, path, protocol.TypeJSON, target.Encode(s.dialect, body, nil))
}

// send sends a request that is not repeated once the service may have acted on it.
func (s speaker) send(ctx context.Context, method, path, contentType string, body []byte) error {
	r := target.Request{Method: method, Path: s.brain + path, ContentType: contentType, Body: body}
	return target.Retry(ctx, target.CallTimeout, func(ctx context.Context) error {
		return s.endpoint.Change(ctx, r)
	})
}

// ofDocument returns the error of an operation on a document that is there. A service that does not
// find it has lost it, unless it can read it: then it lacks the operation.
func (s speaker) ofDocument(ctx context.Context, o dataset.Operation, err error) error {
	if !hasStatus(err, http.StatusNotFound) {
		return lackingMethod(err)
	}
	r := target.Request{
		Method: http.MethodGet, Path: s.brain + "/documents/read?path=" + url.QueryEscape(result.SeedRoot+o.Path),
		Accept: protocol.TypeBytes,
	}
	res, readErr := s.endpoint.Do(ctx, r)
	if readErr != nil {
		return err
	}
	_ = res.Body.Close()
	return fmt.Errorf("%w: %w", target.ErrLacks, err)
}

// lacking returns the error of a request to an endpoint of a brain that is there: if it is not found,
// the service lacks it.
func lacking(err error) error {
	if hasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%w: %w", target.ErrLacks, err)
	}
	return lackingMethod(err)
}

func lackingMethod(err error) error {
	if hasStatus(err, http.StatusMethodNotAllowed) || hasStatus(err, http.StatusNotImplemented) {
		return fmt.Errorf("%w: %w", target.ErrLacks, err)
	}
	return err
}

func hasStatus(err error, status int) bool {
	f, ok := errors.AsType[*target.Failure](err)
	return ok && f.Status == status
}
