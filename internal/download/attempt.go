package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// errIdle is the end of a connection that brings no data.
var errIdle = errors.New("no data arrived for too long")

// attempt makes one request for the missing rest of the part. It returns nil if the part is
// complete, and a permanent error if another attempt is useless.
func (c Config) attempt(ctx context.Context, client *http.Client, p *part) error {
	if c.Size > 0 && p.size == c.Size {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return permanent{err}
	}
	req.Header.Set("User-Agent", c.UserAgent)
	req.Header.Set("Accept-Encoding", "identity") // ranges count bytes of the file itself
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		if p.state.Validator != "" {
			req.Header.Set("If-Range", p.state.Validator)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return cause(ctx, err)
	}
	defer res.Body.Close()
	total, err := c.accept(res, p)
	if err != nil || total == p.size {
		return err // complete, if there is no error
	}
	c.Progress(p.size, total)
	err = c.copy(p, res.Body, total, func() { idle.Reset(c.Idle) })
	if err != nil {
		return cause(ctx, err)
	}
	if p.size < max(total, c.Size) { // total is negative if the server does not say
		return io.ErrUnexpectedEOF
	}
	return nil
}

// cause returns why a request failed, without the URL, which the caller adds.
func cause(ctx context.Context, err error) error {
	if fatal, ok := errors.AsType[permanent](err); ok {
		return fatal
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// accept prepares the part for the body of a response. It returns the size of the whole file, -1 if
// that is unknown.
func (c Config) accept(res *http.Response, p *part) (total int64, err error) {
	switch {
	case res.StatusCode == http.StatusOK:
		return res.ContentLength, c.acceptWhole(res, p)
	case res.StatusCode == http.StatusPartialContent:
		return c.acceptRange(res, p)
	case res.StatusCode == http.StatusRequestedRangeNotSatisfiable && p.size > 0:
		return c.acceptEnd(res, p)
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusTooManyRequests,
		res.StatusCode >= http.StatusInternalServerError:
		return 0, fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	}
	return 0, permanent{fmt.Errorf("the server answered %d %s; check the URL",
		res.StatusCode, http.StatusText(res.StatusCode))}
}

// acceptWhole accepts the file from its first byte.
func (c Config) acceptWhole(res *http.Response, p *part) error {
	if coding := res.Header.Get("Content-Encoding"); coding != "" {
		return permanent{fmt.Errorf("the server sends the file encoded as %q, which was not asked for", coding)}
	}
	if err := c.checkTotal(res.ContentLength); err != nil {
		return err // the received bytes are kept
	}
	if err := p.restart(); err != nil {
		return err
	}
	p.state = state{URL: c.URL, Validator: validator(res.Header)}
	return p.save()
}

// contentRange matches the header of a part of a file, and of a range that the file does not have.
var contentRange = regexp.MustCompile(`^bytes (?:(\d+)-\d+|\*)/(\d+|\*)$`)

// parseRange returns the first byte of a part, -1 if there is none, and the size of the file, -1 if
// it is unknown.
func parseRange(header string) (first, total int64, ok bool) {
	m := contentRange.FindStringSubmatch(header)
	if m == nil {
		return 0, 0, false
	}
	number := func(s string) int64 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return -1
	}
	return number(m[1]), number(m[2]), true
}

// errChanged means that the file is not the one that the part began with.
var errChanged = errors.New("the file has changed at the server")

// acceptRange accepts the rest of the file, if it follows the part and belongs to the same file.
func (c Config) acceptRange(res *http.Response, p *part) (int64, error) {
	first, total, ok := parseRange(res.Header.Get("Content-Range"))
	if v := validator(res.Header); !ok || first != p.size ||
		v != "" && p.state.Validator != "" && v != p.state.Validator {
		return 0, errors.Join(errChanged, p.restart())
	}
	return total, c.checkTotal(total)
}

// acceptEnd handles a response that says that the file has no bytes after the part. Either the part
// is the whole file, or the file has changed.
func (c Config) acceptEnd(res *http.Response, p *part) (int64, error) {
	_, total, ok := parseRange(res.Header.Get("Content-Range"))
	if ok && total == p.size && (c.Size == 0 || total == c.Size) {
		return total, nil
	}
	return 0, errors.Join(errChanged, p.restart())
}

// checkTotal returns an error if the file at the server has the wrong size, before it is received.
func (c Config) checkTotal(total int64) error {
	if c.Size > 0 && total >= 0 && total != c.Size {
		return permanent{fmt.Errorf("the file at the server has %d bytes and must have %d; "+
			"it has been replaced", total, c.Size)}
	}
	return nil
}

// validator returns the identity of a file's version: its strong ETag, else its date.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); len(tag) > 0 && tag[0] == '"' {
		return tag
	}
	return h.Get("Last-Modified")
}

// copy appends the body to the part. arrived is called for each piece.
func (c Config) copy(p *part, body io.Reader, total int64, arrived func()) error {
	buffer := make([]byte, 128<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			arrived()
			if c.Size > 0 && p.size+int64(n) > c.Size {
				return errors.Join(permanent{fmt.Errorf("the server sent more than the %d bytes that "+
					"the file must have", c.Size)}, p.restart())
			}
			if err := p.write(buffer[:n]); err != nil {
				return permanent{err}
			}
			c.Progress(p.size, total)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
