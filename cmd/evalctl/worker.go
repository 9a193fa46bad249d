package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/figure"
	"evalctl/internal/heap"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/queue"
)

// workerCmd has the flags of evalctl serve worker.
type workerCmd struct {
	Queue       string        `env:"SVC_QUEUE" placeholder:"URL" help:"${about_queue}"`
	Concurrency int           `default:"16" placeholder:"N" help:"${about_concurrency} (${default})."`
	Files       string        `placeholder:"DIR" help:"Folder with the files of replays, if their paths differ from those on the machine that began the replay."`
	CacheDir    string        `name:"cache-dir" env:"SVC_CACHE_DIR" placeholder:"DIR" help:"Folder for cached replies and filled brains. Default: evalctl in the user's cache folder."`
	Lease       time.Duration `default:"15s" placeholder:"DURATION" help:"How long a silent worker is considered alive. Then others get its questions (${default})."`
	Quiet       bool          `help:"${about_quiet}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *workerCmd) Validate() error {
	switch {
	case c.Queue == "":
		return errors.New("--queue and SVC_QUEUE are missing: give the URL of a database, such as postgres://user@host/database")
	case !postgres.IsURL(c.Queue):
		return errQueueURL
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("--concurrency %d: must be from 1 to %d", c.Concurrency, maxConcurrency)
	case c.Lease < time.Second: // a busy machine must not look dead
		return fmt.Errorf("--lease %v: must be at least 1s", c.Lease)
	}
	return nil
}

// Run works until ctx ends.
func (c *workerCmd) Run(ctx context.Context, p *process) (err error) {
	defer heap.HoldSpare()()
	if err := replay.CheckFolders(c.Files, c.CacheDir); err != nil {
		return err
	}
	q, err := openQueue(ctx, p, c.Queue, queue.Options{Lease: c.Lease, Works: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	t := newTerminal(p, c.Quiet)
	var mu sync.Mutex
	h := &replay.Handler{
		Files: c.Files,
		Plan: func(ctx context.Context, options map[string]any) (*replay.Plan, error) {
			return c.plan(ctx, p, options)
		},
		Print: func(name, format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			t.Field(name, format, args...)
		},
	}
	h.Print("worker", "%s  %s  %s at a time", q.ID(), terminal.Line(postgres.Address(c.Queue)), figure.Count(c.Concurrency, "question"))
	return q.Work(ctx, c.Concurrency, h)
}

// plan returns the plan of a run, from the flags with which it was begun.
func (c *workerCmd) plan(ctx context.Context, p *process, options map[string]any) (*replay.Plan, error) {
	// What concerns the machine that began the run, or only the process that collects the records.
	for _, name := range []string{"port", "cache-dir", "report", "history", "junit", "markdown", "html", "ci"} {
		delete(options, name)
	}
	here := *p
	here.args = []string{"replay"}
	if c.CacheDir != "" {
		here.args = append(here.args, "--cache-dir", c.CacheDir)
	}
	var of cli
	if _, err := parse(ctx, &here, &of, kong.Resolvers(project.Reopened("replay", options))); err != nil {
		return nil, err
	}
	return of.Replay.plan(ctx, &here)
}
