package faulttest

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/protocol"
	"evalctl/internal/longtest"
)

// TestBackup restores what pg_dump wrote while clients were writing, and serves it.
func TestBackup(t *testing.T) {
	longtest.Skip(t)
	onlyLong(t)
	f := newFleet(t, fast)
	var before []*model // of all writers, when the dump begins
	var dump []byte
	f.play(context.Background(), f.seed, func() {
		f.rest()
		f.rest()
		resume := f.pause()
		for _, c := range f.writers {
			for _, m := range c.models {
				before = append(before, &model{brain: m.brain, acked: maps.Clone(m.acked), appended: m.appended})
			}
		}
		resume()
		acked := f.counts.writes.Load()
		var err error
		if dump, err = exec.Command(f.cluster.Bin("pg_dump"), f.truth.(*table).url).Output(); err != nil {
			t.Errorf("pg_dump: %v", err)
		}
		if f.counts.writes.Load() == acked {
			t.Error("nothing was written during the dump")
		}
		f.rest()
	})
	f.report()

	restored := f.cluster.Restored(string(dump))
	r := startReplica(t, "restored", nil, "--store", restored)
	ctx := context.Background()
	for _, brain := range f.brains {
		b := f.at(r.URL()).Brain(brain)
		documents, err := documentsOf(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		checkGroups(t, brain, documents)
		for _, m := range before {
			if m.brain == brain {
				checkOlder(t, m, documents)
			}
		}
		checkPrefix(t, brain, newTable(t, restored), f.truth)
		if err := b.Write(ctx, "after.md", []byte("after the restore")); err != nil {
			t.Error(err)
		}
		found, err := b.Search(ctx, protocol.SearchRequest{Query: "restore"})
		if err != nil || len(found.Chunks) == 0 || found.Chunks[0].Path != "after.md" {
			t.Errorf("%s: found %+v, error %v", brain, found.Chunks, err)
		}
	}
	checkNumbers(t, restored)
}

var groupPath = regexp.MustCompile(`^(c\d+/g[-0-9]+)/\d\.md$`)

// checkGroups checks that the documents of each batch are those of one write.
func checkGroups(t *testing.T, brain string, documents map[string]string) {
	t.Helper()
	words, sizes := map[string]string{}, map[string]int{}
	for path, text := range documents {
		group := groupPath.FindStringSubmatch(path)
		if group == nil {
			continue
		}
		sizes[group[1]]++
		if word := wordOf(text); words[group[1]] == "" {
			words[group[1]] = word
		} else if word != words[group[1]] {
			t.Errorf("%s: the batch %s has %s and %s", brain, group[1], word, words[group[1]])
		}
	}
	for group, n := range sizes {
		if n != batchSize {
			t.Errorf("%s: the batch %s has %d documents, want %d", brain, group, n, batchSize)
		}
	}
}

// checkOlder checks that the documents are not older than a model of the past. Words of one client
// ascend.
func checkOlder(t *testing.T, m *model, documents map[string]string) {
	t.Helper()
	for path, text := range m.acked {
		got, ok := documents[path]
		if !ok && groupPath.MatchString(path) || ok && strings.HasPrefix(path, "c") && !strings.Contains(path, "/r") && wordOf(got) < wordOf(text) {
			t.Errorf("%s: %s was acknowledged with %q before the dump, which has %q", m.brain, path, text, got)
		}
	}
	for _, line := range m.appended {
		if !strings.Contains(documents[logPath], line+"\n") {
			t.Errorf("%s: the dump lacks the line %q", m.brain, line)
		}
	}
}

// checkPrefix checks that the changes of the dump are the first ones of all.
func checkPrefix(t *testing.T, brain string, dump *table, all truth) {
	t.Helper()
	have, want := dump.changes(brain), all.changes(brain)
	if len(have) == 0 || len(have) > len(want) {
		t.Fatalf("%s: %d changes in the dump, %d in all", brain, len(have), len(want))
	}
	for i := range have {
		if have[i] != want[i] {
			t.Fatalf("%s: change %d is %v in the dump, and was %v", brain, i, have[i], want[i])
		}
	}
	if n := len(have); n < len(want) && want[n].seq == have[n-1].seq {
		t.Errorf("%s: the dump has a part of commit %d", brain, have[n-1].seq)
	}
}

// checkNumbers checks the numbers of commits in a database.
func checkNumbers(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for name, query := range map[string]string{
		"gaps between commits": `SELECT count(*) FROM (SELECT seq - lag(seq) OVER (PARTITION BY brain ORDER BY seq) AS step
			FROM evalctl.changes) AS c WHERE step > 1`,
		"documents after the last commit": `SELECT count(*) FROM evalctl.documents d WHERE d.version >
			(SELECT coalesce((SELECT max(c.seq) FROM evalctl.changes c WHERE c.brain = h.brain), h.pruned)
			FROM evalctl.heads h WHERE h.brain = d.brain)`,
		"documents without a brain": `SELECT count(*) FROM evalctl.documents d WHERE d.brain NOT IN (SELECT uid FROM evalctl.brains)`,
	} {
		n := -1
		if err := conn.QueryRow(context.Background(), query).Scan(&n); err != nil || n != 0 {
			t.Error(fmt.Errorf("%s: %d, error %w", name, n, err))
		}
	}
}
