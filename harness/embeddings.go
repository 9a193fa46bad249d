package harness

import (
	"context"
	"sync"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// embeddingMeter measures what a daemon embeds, by the metrics of its process.
type embeddingMeter struct {
	mu            sync.Mutex // held while the process is restarted
	known         bool
	before, added target.Embeddings // of the running process, and of those before it
}

// readEmbeddings returns what the metrics of a service say. ok is false if they say nothing.
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

// restart is to be called before the process of a service ends, and begins again with the next one.
// If its metrics cannot be read, as after a crash, the sum is not known.
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

// result returns the sum without its price, nil if it is not known.
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

// MeterEmbeddings begins to measure what the daemon embeds, see Embedded.
func (s *Session) MeterEmbeddings(ctx context.Context) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	s.meter.begin(ctx, s.service)
}

// Embedded returns what the daemon has embedded since MeterEmbeddings, without its price. It is nil
// if the metrics of the daemon do not say it.
func (s *Session) Embedded(ctx context.Context) *result.Embeddings {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return s.meter.result(ctx, s.service)
}

// embeddingLog keeps what a daemon embeds during a run in the journal of the run, so that nothing
// of it is lost when the run is resumed, and little when it is killed. The methods of a nil
// *embeddingLog do nothing.
type embeddingLog struct {
	session *Session
	journal *journal.Journal
	earlier *result.Embeddings // before the run was resumed
	lacking bool               // what was embedded before is not all known
	looked  time.Time
}

// logEmbeddings returns the log of a run whose brains are filled.
func (s *Session) logEmbeddings(j *journal.Journal) *embeddingLog {
	if s == nil {
		return nil
	}
	l := &embeddingLog{session: s, journal: j, earlier: j.Embedded()}
	l.lacking = j.Reopened() && l.earlier == nil || l.earlier != nil && l.earlier.Incomplete
	return l
}

// now returns what was embedded so far, nil if that is not known.
func (l *embeddingLog) now(ctx context.Context) *result.Embeddings {
	e := l.session.meter.result(ctx, l.session.service)
	if e != nil && l.earlier != nil {
		e = l.earlier.Plus(e)
	}
	if e != nil {
		e.Incomplete = l.lacking
	}
	return e
}

// lookEvery is how often what was embedded is kept in the journal, lookTime how long that may take.
const (
	lookEvery = 5 * time.Second
	lookTime  = time.Second
)

// look keeps what was embedded so far, unless it did a moment ago. A daemon that is being restarted
// is not asked. It must not be called concurrently with what appends to the journal.
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

// end returns what was embedded in the whole run, and keeps it. If the daemon does not say it at
// the end, as after a crash, it is what was kept last.
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
