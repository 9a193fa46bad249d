package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"time"

	"evalctl/harness/ledger"
	"evalctl/harness/project"
)

// replayFlags has a value of every flag of replay that a resumed replay takes from its ledger.
var replayFlags = map[string]string{
	"dataset": "/data/b.json", "input-format": "jsonl", "corpus": "/data/notes", "errata": "/data/e.jsonl", "option-seed": "5",
	"expected-sha256": "ab", "target": "go", "without-memory": "oracle", "endpoint": "http://127.0.0.1:1",
	"daemon-cmd": "daemon {addr}", "port": "18850", "dialect": "snake", "ingest-mode": "replay",
	"shared-brain": "true", "sample-size": "7", "seed": "11", "min-per-stratum": "2", "ids": "/data/ids",
	"exclude-ids": "/data/not", "actor-style": "full", "model": "openai/m", "top-k": "9", "mode": "bm25",
	"question-date": "off", "max-unusable": "5", "scorer": "exact", "exact-case": "true", "scorer-timeout": "1m30s", "scorer-env": "VENDOR_TOKEN", "judge": "fake", "judge-panel": "strict", "judge-prompts": "/data/prompts", "judge-option": "max_tokens=900", "judge-patience": "7s",
	"max-cost-usd": "3", "price": "m=1/2", "prices": "/data/prices.json", "unmetered-daemon": "true", "daemon-env": "VENDOR_API_KEY", "home-of-user": "true", "start-timeout": "45s", "context-tokens": "9000",
	"cache": "read", "cache-dir": "/data/cache", "concurrency": "5", "timeout": "30s", "floor": "0.5",
	"floor-mode": "proven", "floor-tag": "type:temporal=0.5", "max-errors": "3", "max-unscored": "4", "report": "/data/r.md", "history": "/data/nights",
	"junit": "/data/j.xml", "markdown": "/data/s.md", "html": "/data/p.html", "metrics": "/data/m.prom", "traces": "/data/t.jsonl", "ci": "true",
	"accept": "effective_modes", "primary": "recall", "cluster": "conv", "latency-alone": "6",
}

// TestReplayFlagsAreKept: a resumed replay has every flag, unless project.NotKept says why not.
func TestReplayFlagsAreKept(t *testing.T) {
	withoutVariables(t)
	var c cli
	args := []string{"replay"}
	for name, value := range replayFlags {
		if value == "true" {
			args = append(args, "--"+name)
		} else {
			args = append(args, "--"+name+"="+value)
		}
	}
	parser, err := kong.New(&c, tagVars())
	if err != nil {
		t.Fatal(err)
	}
	trace, err := kong.Trace(parser, args) // without checks: not all of these go together
	if err != nil || trace.Error != nil {
		t.Fatal(err, trace.Error)
	}
	if _, err := trace.Apply(); err != nil {
		t.Fatal(err)
	}
	if err := c.Replay.AfterApply(trace); err != nil {
		t.Fatal(err)
	}
	options, err := c.Replay.options()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range trace.Selected().Flags {
		if project.NotKept[f.Name] != "" || f.Name == "help" || f.Name == "version" {
			continue
		}
		want, known := replayFlags[f.Name]
		if !known {
			t.Errorf("--%s is new: add a value of it to replayFlags", f.Name)
			continue
		}
		got := options[f.Name]
		if list, ok := got.([]string); ok && len(list) == 1 {
			got = list[0]
		}
		if got != want {
			t.Errorf("--%s: kept %v, want %s", f.Name, got, want)
		}
	}
}

// TestLedgerOptions: what a ledger has is what a command line would have, also under older names.
func TestLedgerOptions(t *testing.T) {
	withoutVariables(t)
	path := filepath.Join(t.TempDir(), "x.ledger")
	options := json.RawMessage(`{"dataset":"b.json","sdk":["go","py"],"baseline":["oracle"],"limit":"3","format":"jsonl","top-k":"7","timeout":"1m30s","price":["m=1/2"]}`)
	l, err := ledger.Create(path, options, time.Now().UTC(), nil)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &process{args: []string{"replay", "--resume", path, "--top-k=8"}, env: func(string) string { return "" }}
	first := cli{}
	first.Replay.Resume = path
	resolver, err := first.Replay.ledgerOptions(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var c cli
	if _, err := parse(t.Context(), p, &c, kong.Resolvers(resolver)); err != nil {
		t.Fatal(err)
	}
	r := c.Replay
	if diff := cmp.Diff([]string{"go", "py"}, r.Target); diff != "" || r.Dataset != "b.json" || r.TopK != 8 ||
		r.Timeout != 90*time.Second || len(r.Price) != 1 || len(r.Baseline) != 1 || r.Limit != 3 || r.Format != "jsonl" {
		t.Errorf("%s%+v", diff, r)
	}
}
