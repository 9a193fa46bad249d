package client

import (
	"bytes"
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path"
	"regexp"
	"strings"

	"evalctl/daemon/protocol"
)

// IngestFile stores a file as a document, as a form. A daemon that does not serve forms gets a JSON
// object, with its keys in both spellings. A response with the status protocol.IngestQueued names a
// job, see Job. Code of the error is protocol.CodeFileTooLarge for more than
// protocol.MaxIngestBytes, which are not sent. Repeating the request is safe if the second response
// has Reused.
func (b *Brain) IngestFile(
	ctx context.Context, f protocol.IngestFile,
) (protocol.IngestResponse, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents/ingest/file"}
	all := append(ingestViolations(f.Title, f.Tags), limitPath("path", f.Path),
		limitChars("content type", f.ContentType, len(f.ContentType)))
	if n := len(f.Content); n > protocol.MaxIngestBytes {
		v := tooLarge("the file has %d bytes, the limit is %d", n, protocol.MaxIngestBytes)
		v.code = protocol.CodeFileTooLarge
		all = append(all, v)
	}
	r.check(all...)
	r.form(f)
	response, err := call[protocol.IngestResponse](ctx, b.c, r)
	if !IsUnsupported(err) && !hasStatus(err, http.StatusUnsupportedMediaType) {
		return response, err
	}
	again := request{method: http.MethodPost, path: b.path + "/ingest/file"}
	again.json(bothSpellings(f))
	response, second := call[protocol.IngestResponse](ctx, b.c, again)
	if IsUnsupported(second) || hasStatus(second, http.StatusUnsupportedMediaType) {
		return protocol.IngestResponse{}, err // the daemon's own endpoint says more
	}
	return response, second
}

// IngestURL stores a web page, which the daemon fetches, as a document. IsUnsupported reports
// whether the daemon has no such endpoint. Only ctx limits how long it takes.
func (b *Brain) IngestURL(
	ctx context.Context, u protocol.IngestURL,
) (protocol.IngestResponse, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents/ingest/url"}
	all := append(ingestViolations(u.Title, u.Tags), limitChars("url", u.URL, protocol.MaxURL))
	r.check(all...)
	r.json(u)
	return callModel[protocol.IngestResponse](ctx, b.c, r)
}

func ingestViolations(title string, tags []string) []violation {
	return documentViolations(protocol.CreateDocument{Content: "x", Title: title, Tags: tags})
}

// form encodes a file as the body.
func (r *request) form(f protocol.IngestFile) {
	if r.err != nil {
		return
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	fields := [][2]string{
		{"path", f.Path}, {"title", f.Title}, {"as", f.As}, {"content_type", f.ContentType},
	}
	for _, tag := range f.Tags {
		fields = append(fields, [2]string{"tags", tag})
	}
	var errs []error
	for _, field := range fields {
		if field[1] != "" {
			errs = append(errs, w.WriteField(field[0], field[1]))
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", path.Base(f.Path)))
	header.Set("Content-Type", protocol.TypeBytes)
	if f.ContentType != "" {
		header.Set("Content-Type", headerText(f.ContentType))
	}
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write(f.Content)
	}
	r.err = errors.Join(append(errs, err, w.Close())...)
	r.contentType, r.body = w.FormDataContentType(), body.Bytes()
}

// headerText removes characters that would end a header.
func headerText(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }

// bothSpellings returns the keys of a file in snake_case and in camelCase.
func bothSpellings(f protocol.IngestFile) map[string]any {
	all := map[string]any{
		"path": f.Path, "content_base64": f.Content, "contentBase64": f.Content,
	}
	for key, value := range map[string]string{
		"title": f.Title, "as": f.As, "content_type": f.ContentType, "contentType": f.ContentType,
	} {
		if value != "" {
			all[key] = value
		}
	}
	if len(f.Tags) > 0 {
		all["tags"] = f.Tags
	}
	return all
}

// aboutBrain finds texts that say that a brain is missing, and not an endpoint.
var aboutBrain = regexp.MustCompile(`(?i)\bbrain\b`)

// IsUnsupported reports whether err is the daemon's response that it does not have an endpoint:
// 405, 501, the code not_implemented, or 404 unless the Problem says that the brain is missing.
func IsUnsupported(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.NotSent {
		return false
	}
	switch {
	case e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotImplemented,
		e.Problem.Code == protocol.CodeNotImplemented:
		return true
	case e.Status != http.StatusNotFound || e.Problem.Code == protocol.CodeNoBrain:
		return false
	}
	// The path may contain the word.
	text := strings.ReplaceAll(e.Problem.Title+" "+e.Problem.Detail, e.Path, "")
	return !aboutBrain.MatchString(text)
}

func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.NotSent && e.Status == status
}
