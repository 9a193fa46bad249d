package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/httpclient"
	"evalctl/internal/printable"
)

// Get implements Reader.
func (e *Endpoint) Get(ctx context.Context, id, path string) (texts []string, err error) {
	r := Request{
		Method: http.MethodGet, Path: BrainPath(id) + "/documents/read?path=" + url.QueryEscape(result.SeedRoot+path),
		Accept: protocol.TypeBytes,
	}
	err = Retry(ctx, CallTimeout, func(ctx context.Context) error {
		res, err := e.Do(ctx, r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		data, err := httpclient.ReadBody(res, protocol.MaxWriteBytes)
		texts = []string{string(data)}
		return err
	})
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	return texts, err
}

// Records implements Recorder with the brain's document list and records.
func (e *Endpoint) Records(ctx context.Context, id string) (all []Listing, err error) {
	for _, list := range []struct {
		place result.Place
		path  string
	}{
		{result.InList, "/documents?dir=&recursive=true"}, {result.InRecord, "/documents"},
	} {
		o, err := e.get(ctx, BrainPath(id)+list.path)
		if Unanswered(err) {
			return all, err
		}
		for _, m := range o {
			all = append(all, Listing{list.place, "GET " + list.path + ": " + string(m.Key), m.Value})
		}
	}
	return all, nil
}

// Recall implements Recaller.
func (e *Endpoint) Recall(ctx context.Context, id, session, query string, topK int) ([]result.Chunk, error) {
	query = printable.First(withoutOperators(query), protocol.MaxSearchQuery)
	ctx, cancel := TimeLimit(ctx, CallTimeout)
	defer cancel()
	o, err := e.Object(ctx, Request{
		Method: http.MethodPost, Path: BrainPath(id) + "/sessions/" + httpclient.Segment(session) + "/recall",
		ContentType: protocol.TypeJSON, Body: Encode(result.Auto, map[string]any{"query": query, "top_k": topK}, nil),
	})
	if err != nil {
		return nil, err
	}
	return SearchChunks(o)
}

// Wire implements Wire.
func (e *Endpoint) Wire() *Endpoint { return e }

// speaker makes operations on one brain.
type speaker struct {
	endpoint *Endpoint
	dialect  result.Dialect
	id       string        // of the brain
	within   time.Duration // for each request
}

// Apply implements Store.
func (s *protocolStore) Apply(ctx context.Context, id string, o dataset.Operation) error {
	within := CallTimeout
	if end, ok := ctx.Deadline(); ok && AsksModel(o.Op) {
		within = time.Until(end)
	}
	return speaker{s.endpoint, s.dialect, id, within}.operate(ctx, o)
}

func (s speaker) operate(ctx context.Context, o dataset.Operation) error {
	path := "/documents?path=" + url.QueryEscape(result.SeedRoot+o.Path)
	switch o.Op {
	case dataset.OpPut:
		return s.store().put(ctx, s.id, dataset.Doc{Path: o.Path, Data: o.Document()})
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
		if o.Source != "" {
			body["source"] = o.Source
		}
		return s.lacking(ctx, o, s.json(ctx, "/documents", body))
	case dataset.OpMessage:
		body := map[string]any{"role": o.Role, "content": o.Text}
		if o.Speaker != "" {
			body["name"] = o.Speaker
		}
		if o.Date != "" {
			body["created_at"] = timeOf(o.Date)
		}
		return s.lacking(ctx, o, s.json(ctx, s.session(o)+"/messages", body))
	case dataset.OpReflect:
		return s.lacking(ctx, o, s.json(ctx, s.session(o)+"/reflect", map[string]any{}))
	case dataset.OpForget:
		return s.lacking(ctx, o, s.send(ctx, http.MethodDelete, s.session(o), "", nil))
	case dataset.OpConsolidate:
		err := s.lacking(ctx, o, s.json(ctx, "/consolidate", map[string]any{}))
		if errors.Is(err, ErrLacks) {
			err = s.lacking(ctx, o, s.json(ctx, "/compile", map[string]any{}))
		}
		return err
	}
	return fmt.Errorf("%w: %s", ErrLacks, o.Op)
}

func (s speaker) store() *protocolStore { return &protocolStore{s.endpoint, s.dialect} }

func (s speaker) session(o dataset.Operation) string {
	return "/sessions/" + httpclient.Segment(o.Session)
}

// timeOf converts a date to a time. A day becomes noon.
func timeOf(date string) string {
	if _, err := time.Parse(time.DateOnly, date); err == nil {
		return date + "T12:00:00Z"
	}
	return date
}

func (s speaker) json(ctx context.Context, path string, body map[string]any) error {
	return s.send(ctx, http.MethodPost, path, protocol.TypeJSON, Encode(s.dialect, body, nil))
}

// send sends a request that is not repeated once the service may have acted on it.
func (s speaker) send(ctx context.Context, method, path, contentType string, body []byte) error {
	r := Request{Method: method, Path: BrainPath(s.id) + path, ContentType: contentType, Body: body}
	return Retry(ctx, s.within, func(ctx context.Context) error {
		return s.endpoint.Change(ctx, r)
	})
}

// ofDocument returns the error of an operation on an existing document. If the service reports it
// as not found, it has lost the document, unless it can still read it: then it lacks the operation.
func (s speaker) ofDocument(ctx context.Context, o dataset.Operation, err error) error {
	if !hasStatus(err, http.StatusNotFound) {
		return lackingMethod(err)
	}
	texts, readErr := s.endpoint.Get(ctx, s.id, o.Path)
	if readErr != nil || texts == nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLacks, err)
}

// aboutSession finds texts that say that a session is missing, and not an endpoint.
var aboutSession = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)session([^s]|$)`) })

// lacking returns the error of an operation. Not found means that the service lacks the
// endpoint, unless it has lost the brain, or says that it has lost a session that took messages.
func (s speaker) lacking(ctx context.Context, o dataset.Operation, err error) error {
	f, failed := errors.AsType[*Failure](err)
	if !failed || f.Status != http.StatusNotFound {
		return lackingMethod(err)
	}
	if o.Op == dataset.OpReflect || o.Op == dataset.OpForget {
		// The path may contain the word, as may the names in it.
		said := strings.NewReplacer(BrainPath(s.id), "", "/v1/brains/"+s.id, "", s.session(o), "", "/sessions/"+o.Session, "").Replace(f.Message)
		if aboutSession().MatchString(said) {
			return err
		}
	}
	if _, gone := s.store().Search(ctx, s.id, OwnQuery, 1); hasStatus(gone, http.StatusNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLacks, err)
}

func lackingMethod(err error) error {
	if hasStatus(err, http.StatusMethodNotAllowed) || hasStatus(err, http.StatusNotImplemented) {
		return fmt.Errorf("%w: %w", ErrLacks, err)
	}
	return err
}
