package harness

import (
	"context"
	"sync"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// embeddingMeter measures a daemon's embeddings from its metrics.
type embeddingMeter struct {
	mu            sync.Mutex // held while the process is restarted
	known         bool
	before, added target.Embeddings // of the running process, and of those before it
}

// readEmbeddings reads a service's metrics. ok is false if they have no embeddings.
func readEmbeddings(ctx context.Context, s target.Service) (found target.Embeddings, ok bool) {
	if s == nil {
		return found, false // it is being restarted
	}
	metered, err := target.Find[target.MeteredService](s, target.Metrics)
	if err != nil {
		return found, false
	}
	return metered.Embeddings(ctx)
}

func (m *embeddingMeter) begin(ctx context.Context, s target.Service) {
	m.before, m.known = readEmbeddings(ctx, s)
}

// restart must be called before the service's process ends; counting starts again with the next
// process. If the metrics cannot be read, for example after a crash, the sum is unknown.
func (m *embeddingMeter) restart(ctx context.Context, s target.Service) {
	m.added, m.known = m.sum(ctx, s)
	m.before = target.Embeddings{}
}

func (m *embeddingMeter) sum(ctx context.Context, s target.Service) (target.Embeddings, bool) {
	if !m.known {
		return target.Embeddings{}, false
	}
	now, ok := readEmbeddings(ctx, s)
	if ok {
		now, ok = now.Since(m.before)
	}
	return now.Plus(m.added), ok
}

// result returns the sum without its price, nil if unknown.
func (m *embeddingMeter) result(ctx context.Context, s target.Service) *result.Embeddings {
	sum, ok := m.sum(ctx, s)
	if !ok {
		return nil
	}
	e := &result.Embeddings{Provider: sum.Provider, Model: sum.Model, Embedded: sum.Embedded, Cached: sum.Cached}
	if sum.Uncounted == 0 {
		e.Tokens = &sum.Tokens
	}
	return e
}

// MeterEmbeddings starts counting the daemon's embeddings, see Embedded.
func (s *Session) MeterEmbeddings(ctx context.Context) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	s.meter.begin(ctx, s.service)
}

// Embedded returns the daemon's embeddings since MeterEmbeddings, without their price. It is nil if
// the daemon's metrics do not count them.
func (s *Session) Embedded(ctx context.Context) *result.Embeddings {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.meter.result(ctx, s.service)
}

// embeddingLog saves a run's embedding counts in its journal, so that none are lost when the run is
// resumed, and few when it is killed. Its methods do nothing on nil.
type embeddingLog struct {
	session *Session
	journal *journal.Journal
	earlier *result.Embeddings // before the run was resumed
	lacking bool               // earlier counts are incomplete
	looked  time.Time
}

// logEmbeddings returns the embedding log of a run after its brains are filled.
func (s *Session) logEmbeddings(j *journal.Journal) *embeddingLog {
	if s == nil {
		return nil
	}
	l := &embeddingLog{session: s, journal: j, earlier: j.Embedded()}
	l.lacking = j.Reopened() && l.earlier == nil || l.earlier != nil && l.earlier.Incomplete
	return l
}

// now returns the embeddings so far, nil if unknown.
func (l *embeddingLog) now(ctx context.Context) *result.Embeddings {
	e := l.session.meter.result(ctx, l.session.service)
	if e != nil && l.earlier != nil {
		e = plusEmbeddings(l.earlier, e)
	}
	if e != nil {
		e.Incomplete = l.lacking
	}
	return e
}

// lookEvery is the interval for saving embedding counts in the journal, and lookTime the time limit
// for reading them.
const (
	lookEvery = 5 * time.Second
	lookTime  = time.Second
)

// look saves the embedding counts unless they were saved recently. It does not ask a daemon that is
// being restarted. It must not be called concurrently with appends to the journal.
func (l *embeddingLog) look() error {
	if l == nil || time.Since(l.looked) < lookEvery || !l.session.meter.mu.TryLock() {
		return nil
	}
	defer l.session.meter.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	e := l.now(ctx)
	l.looked = time.Now()
	if e == nil {
		return nil
	}
	e.Incomplete = true
	return l.journal.MarkEmbedded(*e)
}

// end returns and saves the embedding counts of the whole run. If the daemon no longer reports
// them, for example after a crash, it returns the last saved counts.
func (l *embeddingLog) end(ctx context.Context) (*result.Embeddings, error) {
	if l == nil {
		return nil, nil
	}
	l.session.meter.mu.Lock()
	defer l.session.meter.mu.Unlock()
	e := l.now(ctx)
	if e == nil {
		if e = l.journal.Embedded(); e != nil {
			e.Incomplete = true
		}
		return e, nil
	}
	return e, l.journal.MarkEmbedded(*e)
}

// plusEmbeddings adds the embeddings of two parts of a run, without their price. It returns nil if
// the models differ.
func plusEmbeddings(e, more *result.Embeddings) *result.Embeddings {
	if e.Provider != more.Provider || e.Model != more.Model {
		return nil
	}
	sum := &result.Embeddings{
		Provider: e.Provider, Model: e.Model, Embedded: e.Embedded + more.Embedded, Cached: e.Cached + more.Cached,
		Incomplete: e.Incomplete || more.Incomplete,
	}
	if e.Tokens != nil && more.Tokens != nil {
		sum.Tokens = new(*e.Tokens + *more.Tokens)
	}
	return sum
}
