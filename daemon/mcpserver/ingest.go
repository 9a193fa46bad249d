package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"evalctl/daemon/client"
	"evalctl/daemon/convert"
	"evalctl/daemon/fetch"
	"evalctl/daemon/protocol"
)

// ingested is the status of a file that is not queued (spec 3).
const ingested = "ingested"

func ingestFile(ctx context.Context, c call) (reply, error) {
	if !c.local || c.files == nil {
		return reply{}, &toolError{Code: protocol.CodeLocalFiles, Message: "this server does not read files of its machine: " +
			"run evalctl serve mcp --ingest-files FOLDER where the file is, or send the file to POST /v1/brains/{id}/documents/ingest/file"}
	}
	name := c.args.text("path")
	data, err := c.files.read(ctx, name)
	if err != nil {
		return reply{}, err
	}
	file := protocol.IngestFile{
		Path: filepath.Base(name), As: c.args.text("as"), Content: data,
	}
	return inBrain(ctx, c, func(_ string, b *client.Brain) (reply, error) {
		r, err := b.IngestFile(ctx, file)
		if err != nil {
			return reply{}, err
		}
		r.Path = cmp.Or(r.Path, name) // the job decides the path of the document
		text := ingestText(r, name)
		if r.Status != protocol.IngestQueued {
			r.Status = ingested
		}
		return reply{r, text}, nil
	})
}

func ingestText(r protocol.IngestResponse, name string) string {
	switch {
	case r.Status == protocol.IngestQueued:
		return fmt.Sprintf("Queued %s as job %s", name, r.JobID)
	case r.Reused:
		return fmt.Sprintf("%s was ingested before, as %s (%d chunks)", name, r.Path, r.ChunkCount)
	}
	return fmt.Sprintf("Ingested %s as %s (%d chunks)", name, r.Path, r.ChunkCount)
}

type serverIngest struct {
	Path   string                  `json:"path"` // server
	Result protocol.IngestResponse `json:"result"`
}

type fallbackIngest struct {
	Path     string `json:"path"` // fallback
	Document any    `json:"document"`
}

func ingestURL(ctx context.Context, c call) (reply, error) {
	target := c.args.text("url")
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		r, err := b.IngestURL(ctx, protocol.IngestURL{URL: target})
		if err == nil {
			return reply{serverIngest{"server", r}, ingestText(r, target)}, nil
		}
		// A daemon has its own tools if this is not the user's own process, and then it also has
		// the endpoint.
		if !c.local || !c.lacksRoute(ctx, id, err) {
			return reply{}, err
		}
		d, err := c.fetchPage(ctx, target)
		if err != nil {
			return reply{}, err
		}
		s, err := c.store(ctx, id, b, d)
		if err != nil {
			return reply{}, err
		}
		return reply{fallbackIngest{"fallback", s.record}, s.text}, nil
	})
}

// fetchPage makes a document of a page.
func (c call) fetchPage(ctx context.Context, target string) (protocol.CreateDocument, error) {
	page, err := c.fetcher.Get(ctx, target)
	if err != nil {
		return protocol.CreateDocument{}, fetchError(err)
	}
	name := path.Base(page.URL.Path)
	doc, err := convertPage(ctx, name, page)
	if err != nil {
		return protocol.CreateDocument{}, fetchError(err)
	}
	return protocol.CreateDocument{
		Content: doc.Markdown, Title: doc.Title, Source: protocol.SourceIngest,
		Metadata: map[string]any{"source_url": page.URL.String()},
	}, nil
}

func convertPage(ctx context.Context, name string, page fetch.Page) (convert.Document, error) {
	kind, err := convert.KindOfFile("", page.ContentType, name, page.Body)
	if err != nil {
		return convert.Document{}, err
	}
	data, err := convert.Decode(kind, page.ContentType, page.Body)
	if err != nil {
		return convert.Document{}, err
	}
	if kind == convert.HTML {
		return convert.Page(ctx, page.URL, data)
	}
	return convert.Convert(ctx, kind, name, data)
}

// fetchError gives an error of fetching or converting a page the code that the daemon uses for it.
func fetchError(err error) error {
	code := protocol.CodeInternal
	for _, known := range []struct {
		err  error
		code string
	}{
		{fetch.ErrURL, protocol.CodeValidation},
		{fetch.ErrAddress, protocol.CodeValidation},
		{fetch.ErrTooLarge, protocol.CodeFileTooLarge},
		{fetch.ErrUnsupported, protocol.CodeUnsupportedMediaType},
		{convert.ErrKind, protocol.CodeUnsupportedMediaType},
		{convert.ErrInvalid, protocol.CodeValidation},
		{convert.ErrOverloaded, protocol.CodeOverloaded},
		{fetch.ErrUpstream, protocol.CodeBadGateway},
		{context.DeadlineExceeded, protocol.CodeTimeout},
	} {
		if errors.Is(err, known.err) {
			code = known.code
			break
		}
	}
	return &toolError{Code: code, Message: err.Error()}
}
