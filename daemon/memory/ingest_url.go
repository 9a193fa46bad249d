package memory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/brain"
	"evalctl/daemon/convert"
	"evalctl/daemon/fetch"
	"evalctl/daemon/protocol"
)

// IngestURL fetches a web page and stores its main text as a Markdown document below raw/documents
// (spec 4.1, memory_ingest_url). It also keeps the page as it was sent. As in IngestFile, the same
// bytes are stored once.
//
// A URL that may not be fetched (see package fetch), or a page that does not match its type, is an
// *ArgumentError. A page of more than fetch.MaxBytes is ErrFileTooLarge, a type that cannot be
// converted ErrKind, and any failure of the server ErrUpstream.
func (s *Service) IngestURL(
	ctx context.Context, h brain.Handle, r protocol.IngestURL,
) (protocol.IngestResponse, error) {
	if err := checkIngestURL(r); err != nil {
		return protocol.IngestResponse{}, err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	s.Resume(h)
	page, err := s.cfg.Fetcher.Get(ctx, r.URL)
	if err != nil {
		return protocol.IngestResponse{}, fetchError(err)
	}
	src, err := s.pageSource(r, page)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	return s.ingest(ctx, h, st, src, nil)
}

func checkIngestURL(r protocol.IngestURL) error {
	switch n := utf8.RuneCountInString(r.URL); {
	case strings.TrimSpace(r.URL) == "":
		return argumentErrorf("url", "is missing")
	case n > protocol.MaxURL:
		return argumentErrorf("url", "has %d characters, the limit is %d", n, protocol.MaxURL)
	}
	if err := checkTitle(r.Title); err != nil {
		return err
	}
	return checkTags(r.Tags)
}

// fetchError converts an error of package fetch.
func fetchError(err error) error {
	switch {
	case errors.Is(err, fetch.ErrURL), errors.Is(err, fetch.ErrAddress):
		return argumentErrorf("url", "%v", err)
	case errors.Is(err, fetch.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrFileTooLarge, err)
	case errors.Is(err, fetch.ErrUnsupported):
		return fmt.Errorf("%w: %w", ErrKind, err)
	}
	return err
}

// pageSource describes a fetched page as a file.
func (s *Service) pageSource(r protocol.IngestURL, page fetch.Page) (source, error) {
	name := strings.ToValidUTF8(path.Base(page.URL.Path), "")
	if strings.Trim(name, "./") == "" {
		name = page.URL.Hostname()
	}
	if len(page.Body) == 0 {
		return source{}, argumentErrorf("url", "the page is empty")
	}
	kind, err := convert.KindOfFile("", page.ContentType, name, page.Body)
	if err != nil {
		return source{}, err
	}
	src := newSourceOf(kind, protocol.IngestFile{
		Path: name, ContentType: page.ContentType, Title: r.Title, Tags: r.Tags, Content: page.Body,
	}, pagePath(page.URL))
	src.page = page.URL
	src.metadata = map[string]any{
		keySourceURL: r.URL, keySourceFetched: protocol.FormatTime(s.cfg.Now()),
	}
	if final := page.URL.String(); final != r.URL {
		src.metadata[keySourceFinalURL] = final
	}
	return src, nil
}

// pagePath returns the path of the document of a page: its host, and its path as a slug.
func pagePath(u *url.URL) string {
	host := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(u.Hostname()))
	slug := "index"
	if stem := strings.TrimSuffix(u.Path, path.Ext(u.Path)); strings.Trim(stem, "/") != "" {
		slug = brain.Slug("page", stem)
	}
	return ingestDir + "/" + strings.Trim(host, "-.") + "-" + slug + markdownExt
}
