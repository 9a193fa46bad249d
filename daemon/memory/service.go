// Package memory implements the operations on a brain. A brain.Handle gives an operation the
// brain's store, its search index and its events.
//
// Each operation is a method of Service in a file of its own:
//
//   - search.go: ranked chunks for a query; query.go checks the request
//   - ask.go: a question answered from the documents; package reader has the prompts and makes
//     citations of the model's markers
//   - facts.go: the documents that the daemon writes by itself, and the lines of documents of facts
//   - records.go: documents by id; record.go derives a record from a document,
//     record_text.go a document from the request for one
//   - ingest.go and ingest_url.go: files and pages as documents; ingest_path.go chooses the path,
//     ingest_text.go makes the text, ingest_record.go finds the document of a file,
//     ingest_queue.go leaves large files to jobs, originals.go removes files without a document,
//     and originals_read.go finds such files of an earlier process
//   - group.go: one commit of concurrent requests
//   - session.go: messages of sessions; session_key.go names their folders, session_message.go
//     checks messages, session_segment.go writes them, session_state.go has the state of a session
//   - extract.go: facts of sessions and transcripts; extract_read.go chooses the messages of a step
//   - recall.go: a search in the context of a session
//   - reflect.go: the end of a session; background.go finishes a request whose client is gone
//   - consolidate.go: facts and episodes become notes and summaries; consolidate_read.go reads them,
//     consolidate_plan.go, consolidate_claims.go, consolidate_note.go and consolidate_summaries.go
//     plan the changes, consolidate_record.go applies them, and consolidate_news.go knows whether
//     there is anything to do
//   - jobs.go: work that continues after the response; jobs_scan.go finds it, jobs_run.go runs it
//
// A further operation gets a file that documents its rules, and helper files that only it uses.
// Operations keep no state outside the brain's store.
package memory

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"evalctl/daemon/distill"
	"evalctl/daemon/fetch"
	"evalctl/internal/llm"
)

// Config configures a Service. Reader and Model are required.
type Config struct {
	// Reader answers questions, running Model.
	Reader llm.Provider
	Model  string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Fetcher fetches the pages that are ingested; nil means one for public addresses.
	Fetcher *fetch.Fetcher
	// Logger receives the failures of background jobs. Nil discards them.
	Logger *slog.Logger
}

// Service implements the operations. It is safe for concurrent use.
type Service struct {
	cfg Config
	// distiller asks the Reader to condense conversations and notes.
	distiller *distill.Distiller
	jobs      *jobs
	// consolidating has the brain.Handle of each brain that is being consolidated.
	consolidating sync.Map
	// reflecting has the sessions that are being reflected on.
	reflecting    perBrain[singleflight.Group]
	settled       perBrain[atomic.Pointer[settledState]]
	groups        perBrain[group]
	messageGroups perBrain[group]
	originals     perBrain[originals]
	transcripts   perBrain[transcripts]
}

// New returns a Service. It fails only when a required field is missing. The caller must Close it.
func New(cfg Config) (*Service, error) {
	if cfg.Reader == nil || cfg.Model == "" {
		return nil, errors.New("memory service: Reader and Model are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	distiller, err := distill.New(cfg.Reader, cfg.Model)
	if err != nil {
		return nil, err
	}
	if cfg.Fetcher == nil {
		cfg.Fetcher = fetch.New(fetch.Options{})
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Service{cfg: cfg, distiller: distiller, jobs: newJobs()}, nil
}
