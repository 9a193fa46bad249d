package memory

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
)

// Resume continues the work that an earlier process has left in the brain: jobs, and originals of
// deleted documents. It returns at once. After it was successful, further calls do nothing.
func (s *Service) Resume(h brain.Handle) {
	b := s.jobs.brains.of(h)
	s.jobs.mu.Lock()
	resumed := b.scanned || b.scanning
	s.jobs.mu.Unlock()
	if !resumed {
		s.startJobs(h, nil)
	}
}

// TakeOver continues the jobs of a vanished process in the brain. It returns once this process has
// announced and queued them.
func (s *Service) TakeOver(ctx context.Context, h brain.Handle) error {
	done, err := h.Announce(ctx)
	if err != nil {
		return err
	}
	b := s.jobs.brains.of(h)
	found, err := s.newJobs(ctx, h, b)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if s.jobs.closed {
		return brain.ErrClosed
	}
	b.announced = append(b.announced, done)
	s.queueFound(h, b, found)
	if err == nil {
		b.scanned = true
		s.goWith(h, func() { s.tidyInBackground(h) })
	}
	s.endIfIdle(b)
	return err
}

// startJobs runs the brain's waiting jobs in the background. It returns at once. done withdraws
// their announcement. If it is nil, the jobs are announced before they are run.
func (s *Service) startJobs(h brain.Handle, done func()) {
	b := s.jobs.brains.of(h)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if done != nil {
		b.announced = append(b.announced, done)
	}
	if s.jobs.closed || h.Err() != nil {
		return
	}
	if b.scanning {
		b.scanAgain = true
		return
	}
	b.scanning = true
	announced := len(b.announced) > 0
	s.goWith(h, func() { s.scanJobs(h, b, announced) })
}

// scanJobs queues the jobs of the brain that are not known yet.
func (s *Service) scanJobs(h brain.Handle, b *brainJobs, announced bool) {
	for {
		err := s.scan(h, b, announced)
		if err != nil && h.Err() == nil && !errors.Is(err, store.ErrGone) && s.jobs.ctx.Err() == nil {
			s.cfg.Logger.Error("cannot read the jobs; the next operation on the brain tries again",
				"brain", h.Brain().ID, "error", err)
		}
		if s.endScan(h, b, err == nil) {
			continue
		}
		if err == nil {
			s.tidyInBackground(h)
		}
		return
	}
}

// scan announces and queues the jobs that are not known yet.
func (s *Service) scan(h brain.Handle, b *brainJobs, announced bool) error {
	if !announced {
		done, err := h.Announce(s.jobs.ctx)
		if err != nil {
			return err
		}
		s.jobs.mu.Lock()
		b.announced = append(b.announced, done)
		s.jobs.mu.Unlock()
	}
	found, err := s.newJobs(s.jobs.ctx, h, b)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	s.queueFound(h, b, found)
	return err
}

// queueFound requires jobs.mu.
func (s *Service) queueFound(h brain.Handle, b *brainJobs, found []*job) {
	for _, j := range found {
		if b.known[j.ID] {
			continue // another scan has found it too
		}
		if b.known == nil {
			b.known, b.queues = map[string]bool{}, map[string][]string{}
		}
		b.known[j.ID] = true
		if j.ended() {
			b.finished = append(b.finished, j.ID)
		} else {
			s.enqueue(h, b, j.Kind, j.ID)
		}
	}
}

// endScan reports whether another scan has to follow at once.
func (s *Service) endScan(h brain.Handle, b *brainJobs, complete bool) bool {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	b.scanned = complete
	b.scanning = complete && b.scanAgain
	b.scanAgain = false
	if !complete && h.Leased() {
		// A server may fail to answer for a moment, but the announced jobs have to be run.
		s.later(h, b, s.jobs.retryAfter, func() {
			b.scanning = true
			s.goWith(h, func() { s.scanJobs(h, b, len(b.announced) > 0) })
		})
	}
	s.endIfIdle(b)
	return b.scanning
}

// later calls start after a time, with jobs.mu held, unless the service is closed by then. The
// brain stays in use until then. The caller holds jobs.mu.
func (s *Service) later(h brain.Handle, b *brainJobs, after time.Duration, start func()) {
	b.waiting++
	release := h.Acquire()
	time.AfterFunc(after, func() {
		defer release()
		s.jobs.mu.Lock()
		defer s.jobs.mu.Unlock()
		b.waiting--
		if !s.jobs.closed {
			start()
		}
	})
}

// endIfIdle withdraws the announcements of the brain if this process has nothing left to do. A
// closed service keeps its announcements, so that other processes continue. The caller holds
// jobs.mu.
func (s *Service) endIfIdle(b *brainJobs) {
	if b.scanning || !b.scanned || b.waiting > 0 || len(b.queues) > 0 || s.jobs.closed {
		return
	}
	for _, done := range b.announced {
		done()
	}
	b.announced = nil
}

// newJobs reads the jobs of the brain that are not known, oldest first.
func (s *Service) newJobs(ctx context.Context, h brain.Handle, b *brainJobs) ([]*job, error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return nil, err
	}
	files, err := st.List(ctx, jobsDir, store.ListOptions{IncludeGenerated: true, Glob: "_*.json"})
	if err != nil {
		return nil, err
	}
	s.jobs.mu.Lock()
	files = slices.DeleteFunc(files, func(f store.FileInfo) bool {
		id := jobIDOf(f.Path)
		return f.IsDir || b.known[id] || !isJobID(id)
	})
	s.jobs.mu.Unlock()
	var found []*job
	err = readEach(ctx, st, files, func(d store.Document) error {
		if !d.Exists || d.Err != nil {
			return nil // deleted in the meantime, or damaged
		}
		if j, err := s.parseJob(jobIDOf(d.Path), []byte(d.Content)); err == nil {
			found = append(found, j)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}

// jobIDOf is the inverse of jobPath.
func jobIDOf(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "_"), ".json")
}
