package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// queueIngest stores a large file with a job that ingests it, unless the file is already stored.
func (s *Service) queueIngest(
	ctx context.Context, h brain.Handle, st *store.Store, src source,
) (protocol.IngestResponse, error) {
	found, err := s.findIngested(ctx, h, st, src)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	if found != "" {
		return s.ingest(ctx, h, st, src, nil)
	}
	var id string
	err = s.addingJobs(ctx, h, func() error {
		return st.Batch(ctx, store.BatchOptions{Reason: "queue an ingest"}, func(b *store.Batch) error {
			var err error
			if id, err = s.addJob(ctx, b, protocol.JobIngest, src); err != nil {
				return err
			}
			return b.Write(ctx, jobDataPath(id), src.data)
		})
	})
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	return protocol.IngestResponse{Status: protocol.IngestQueued, JobID: id, Hash: src.SHA256}, nil
}

// runIngest is the job of queueIngest. It checks its files again, because clients can write to
// them.
func runIngest(ctx context.Context, s *Service, h brain.Handle, j *job) (any, error) {
	st, err := h.Store(ctx)
	if err != nil {
		return nil, err
	}
	src, err := j.ingestSource(ctx, st)
	if err != nil {
		return nil, err
	}
	response, err := s.ingest(ctx, h, st, src, j)
	if errors.Is(err, store.ErrConflict) {
		err = &permanentError{err} // the path is taken
	}
	return response, err
}

func (j *job) ingestSource(ctx context.Context, st *store.Store) (source, error) {
	var src source
	if err := json.Unmarshal(j.Payload, &src); err != nil {
		return source{}, &permanentError{fmt.Errorf("payload of job %s: %w", j.ID, err)}
	}
	data, err := st.Read(ctx, jobDataPath(j.ID))
	if store.IsNotFound(err) {
		return source{}, &permanentError{fmt.Errorf("the file of job %s is gone", j.ID)}
	}
	if err != nil {
		return source{}, err
	}
	checked, err := newSource(protocol.IngestFile{
		Path: cmp.Or(src.Path, "file"), ContentType: src.ContentType, As: string(src.Kind),
		Title: src.Title, Tags: src.Tags, Content: data,
	})
	if err != nil {
		return source{}, err
	}
	checked.Name, checked.Path = path.Base(src.Name), src.Path
	return checked, nil
}
