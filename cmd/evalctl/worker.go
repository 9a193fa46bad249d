package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"evalctl/internal/heap"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/queue"
)

// workerCmd has the flags of evalctl worker.
type workerCmd struct {
	Queue       string        `env:"SVC_QUEUE" placeholder:"URL" help:"Queue in PostgreSQL (required). A password belongs into $SVC_QUEUE, PGPASSWORD or ~/.pgpass."`
	Concurrency int           `default:"16" help:"Number of concurrent questions (${default})."`
	Files       string        `placeholder:"DIR" help:"Folder with the dataset and the other files of replays, if they have other paths than on the machine that began the replay."`
	CacheDir    string        `name:"cache-dir" env:"SVC_CACHE_DIR" placeholder:"DIR" help:"Folder for cached replies and filled brains. Default: evalctl in the user's cache folder."`
	Lease       time.Duration `default:"15s" help:"How long the worker counts as alive without a sign of life. Its questions are then given to others (${default})."`
	Quiet       bool          `help:"Print only errors on stderr."`
}

// minLease is the shortest lease: a busy machine must not look dead.
const minLease = time.Second

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *workerCmd) Validate() error {
	switch {
	case c.Queue == "":
		return errors.New("--queue and SVC_QUEUE are missing: give the URL of a database, such as postgres://user@host/database")
	case !postgres.IsURL(c.Queue):
		return errQueueURL
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", c.Concurrency, maxConcurrency)
	case c.Lease < minLease:
		return fmt.Errorf("--lease %v: must be at least %v", c.Lease, minLease)
	}
	return nil
}

// Run works until ctx ends.
func (c *workerCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	if err := c.checkFolders(); err != nil {
		return err
	}
	q, err := openQueue(ctx, p, c.Queue, queue.Options{Lease: c.Lease, Works: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	h := &workerHandler{command: c, process: p, t: newTerminal(p, c.Quiet)}
	h.print("worker", "%s  %s  %s at a time", q.ID(), terminal.Line(postgres.Address(c.Queue)), count(c.Concurrency, "question"))
	return q.Work(ctx, c.Concurrency, h)
}

// checkFolders finds folders that no replay could use, before there is one.
func (c *workerCmd) checkFolders() error {
	if c.Files != "" {
		if info, err := os.Stat(c.Files); err != nil {
			return fmt.Errorf("--files: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--files %s is a file; give the folder with the files of replays", c.Files)
		}
	}
	if c.CacheDir != "" {
		return replay.CheckFolder(c.CacheDir)
	}
	return nil
}

// workerHandler prepares for the runs of a queue.
type workerHandler struct {
	command *workerCmd
	process *process

	mu sync.Mutex
	t  *terminal.Terminal
}

func (h *workerHandler) print(name, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.t.Field(name, format, args...)
}

// Notice implements queue.Handler.
func (h *workerHandler) Notice(text string) { h.print("warning", "%s", terminal.Line(text)) }

// Begin implements queue.Handler.
func (h *workerHandler) Begin(ctx context.Context, j queue.Job) (_ queue.Worker, err error) {
	w := &runWorker{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := h.open(ctx, j, w); err != nil {
		return nil, err
	}
	plan := w.plan
	if err := replay.CheckFolder(plan.Cache.Dir); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "evalctl-worker-*"); err != nil {
		return nil, err
	}
	if w.Worker, err = plan.NewWorker(j.Books, w.dir); err != nil {
		return nil, err
	}
	h.print("run", "%s  %s  %s  %s", j.ID, terminal.Line(plan.Benchmark.Path),
		count(len(plan.Questions), "question"), count(len(plan.Arms), "arm"))
	return w, nil
}

// open makes the plan of a run, from the flags with which it was begun, and opens its scorer.
func (h *workerHandler) open(ctx context.Context, j queue.Job, w *runWorker) (err error) {
	options := map[string]any{}
	if err := json.Unmarshal(j.Options, &options); err != nil {
		return fmt.Errorf("its flags are those of another version of evalctl: %w", err)
	}
	// What concerns the machine that began the run, or only the process that collects the records.
	for _, name := range []string{"port", "cache-dir", "report", "history", "junit", "markdown", "html", "ci"} {
		delete(options, name)
	}
	if err := replay.Relocate(options, h.command.Files); err != nil {
		return err
	}
	p := *h.process
	p.args = []string{"replay"}
	if h.command.CacheDir != "" {
		p.args = append(p.args, "--cache-dir", h.command.CacheDir)
	}
	var c cli
	if _, err := parse(ctx, &p, &c, kong.Resolvers(resolverOf("replay", options))); err != nil {
		return err
	}
	r := &c.Replay
	if w.end, err = r.openExtern(ctx, &p, r.Scorer, r.MaxUnusable, &r.scorer); err != nil {
		return err
	}
	w.plan, err = r.plan(ctx, &p)
	return err
}

// runWorker works for one run.
type runWorker struct {
	*replay.Worker
	plan *replay.Plan
	dir  string
	end  func() error // of the scorer
}

// Close stops the daemons and the scorer, and removes the logs.
func (w *runWorker) Close() error {
	var errs []error
	if w.Worker != nil {
		errs = append(errs, w.Worker.Close())
	}
	if w.end != nil {
		errs = append(errs, w.end())
	}
	if w.plan != nil {
		errs = append(errs, w.plan.Benchmark.Close())
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}
