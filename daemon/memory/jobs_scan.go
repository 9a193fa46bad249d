package memory

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
)

// Resume continues what an earlier process has left in the brain: its jobs, and the originals of
// documents that are gone. It returns at once, and does nothing if it was successful before.
func (s *Service) Resume(h brain.Handle) {
	b := s.jobs.brains.of(h)
	s.jobs.mu.Lock()
	resumed := b.scanned || b.scanning
	s.jobs.mu.Unlock()
	if !resumed {
		s.startJobs(h)
	}
}

// startJobs runs the jobs of the brain that are waiting, in the background. It returns at once.
func (s *Service) startJobs(h brain.Handle) {
	b := s.jobs.brains.of(h)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if s.jobs.closed || h.Err() != nil {
		return
	}
	if b.scanning {
		b.scanAgain = true
		return
	}
	if b.known == nil {
		b.known, b.queues = map[string]bool{}, map[string][]string{}
	}
	b.scanning = true
	s.jobs.running.Go(func() { s.scanJobs(h, b) })
}

// scanJobs queues the jobs of the brain that are not known yet.
func (s *Service) scanJobs(h brain.Handle, b *brainJobs) {
	for {
		found, err := s.newJobs(h, b)
		if err != nil && h.Err() == nil && s.jobs.ctx.Err() == nil {
			s.cfg.Logger.Error("cannot read the jobs; the next operation on the brain tries again",
				"brain", h.Brain().ID, "error", err)
		}
		if s.addFound(h, b, found, err == nil) {
			continue
		}
		if err == nil {
			s.tidyInBackground(h)
		}
		return
	}
}

// addFound queues the jobs that a scan has found. It reports whether another scan has to follow.
func (s *Service) addFound(h brain.Handle, b *brainJobs, found []*job, complete bool) bool {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	for _, j := range found {
		b.known[j.ID] = true
		if j.ended() {
			b.finished = append(b.finished, j.ID)
		} else {
			s.enqueue(h, b, j.Kind, j.ID)
		}
	}
	b.scanned = complete
	b.scanning = complete && b.scanAgain
	b.scanAgain = false
	return b.scanning
}

// newJobs reads the jobs of the brain that are not known, oldest first.
func (s *Service) newJobs(h brain.Handle, b *brainJobs) ([]*job, error) {
	defer h.Acquire()()
	ctx := s.jobs.ctx
	st, err := h.Store(ctx)
	if err != nil {
		return nil, err
	}
	files, err := st.List(ctx, jobsDir, store.ListOptions{IncludeGenerated: true, Glob: "_*.json"})
	if err != nil {
		return nil, err
	}
	var found []*job
	for _, f := range files {
		id := strings.TrimSuffix(strings.TrimPrefix(path.Base(f.Path), "_"), ".json")
		s.jobs.mu.Lock()
		known := b.known[id]
		s.jobs.mu.Unlock()
		if known || f.IsDir {
			continue
		}
		j, err := s.readJob(ctx, st, id)
		if store.IsNotFound(err) {
			continue // not a job, or deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		found = append(found, j)
	}
	slices.SortFunc(found, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}
