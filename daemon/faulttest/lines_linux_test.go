package faulttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/labels"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// lineFile is a file that grows by lines.
type lineFile interface {
	add(n int, text string) error // line n, and sync it
	Close() error
}

type journalLines struct{ *journal.Journal }

func (l journalLines) add(n int, text string) error {
	record := &result.Record{ID: fmt.Sprint(n), Question: text, Outcome: result.Unscored}
	return errors.Join(l.Append(journal.Entry{Kind: journal.KindAnswer, Index: n, Record: record}), l.Sync())
}

type ledgerLines struct{ *ledger.Ledger }

func (l ledgerLines) add(n int, text string) error {
	options, err := json.Marshal(map[string]string{fmt.Sprint(n): text})
	return errors.Join(err, l.SetCap(llm.Dollar, options), l.Sync())
}

type labelLines struct{ *labels.File }

func (l labelLines) add(n int, text string) error {
	return l.Append(labels.Label{
		ID: fmt.Sprint(n), Question: text, Skipped: true, Labeller: "ann", Design: randomDesign, At: time.Now(),
	})
}

var randomDesign = labels.Design{Sample: labels.Random, Seed: 1}

// TestLinesAfterWriteErrors: for a moment, the disk cannot write a line. The next process finds it
// in the memory of the kernel and adds another line. Both are there after the power has failed.
func TestLinesAfterWriteErrors(t *testing.T) {
	d := newDevice(t)
	text := strings.Repeat("kettle", 10*blockSize/6)
	for kind, open := range map[string]func(dir string) (lineFile, error){
		"journal": func(dir string) (lineFile, error) {
			j, err := journal.Open(filepath.Join(dir, "x.journal"))
			if errors.Is(err, os.ErrNotExist) {
				id := result.Identity{SchemaVersion: result.SchemaVersion, Dataset: result.DatasetID{Selected: 3}}
				j, err = journal.CreateNamed(dir, "x", id, time.Now(), nil)
			}
			return journalLines{j}, err
		},
		"ledger": func(dir string) (lineFile, error) {
			path := filepath.Join(dir, "x"+ledger.Ext)
			l, err := ledger.Open(path)
			if errors.Is(err, os.ErrNotExist) {
				l, err = ledger.Create(path, nil, time.Now(), nil)
			}
			return ledgerLines{l}, err
		},
		"labels": func(dir string) (lineFile, error) {
			f, err := labels.OpenFile(filepath.Join(dir, "x.jsonl"), "ann", randomDesign)
			return labelLines{f}, err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(d.folder, kind)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for n, spoilt := range []string{"", "kettlekettle", ""} {
				l, err := open(dir)
				if err != nil {
					t.Fatal(err)
				}
				d.spoil([]byte(spoilt))
				err = l.add(n, text)
				d.spoil(nil)
				if (spoilt != "") != errors.Is(err, syscall.EIO) {
					t.Fatalf("line %d: %v", n, err)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			d.refuse()
			if err := d.restart(none); err != nil {
				t.Fatal(err)
			}
			l, err := open(dir)
			if err != nil {
				t.Fatalf("%.300v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
