package seed

import (
	"slices"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
)

// TestWritesAreBatched checks that documents are written in batches, the one that is searched for
// in a batch of its own, and one by one if the daemon does not serve batches.
func TestWritesAreBatched(t *testing.T) {
	for _, c := range []struct {
		name    string
		daemon  *manyBrains
		batches []int
		posts   int // requests with a batch, -1 for any number
	}{
		{"batches", &manyBrains{}, []int{256, 256, 87, 1}, 4},
		{"not found", &manyBrains{rejects: 404}, nil, 1},
		{"not allowed", &manyBrains{rejects: 405}, nil, 1},
		{"a lower limit", &manyBrains{room: 12 << 10},
			[]int{64, 64, 64, 64, 64, 64, 64, 64, 87, 1}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs := numbered(600)
			s := daemontest.New(t, c.daemon.serve)
			if _, err := seedOne(t.Context(), endpointAt(t, s.URL, ""), docs); err != nil {
				t.Fatal(err)
			}
			index, _ := probeOf(docs.Docs)
			order := c.daemon.order
			last := order[len(order)-1]
			if last != result.SeedRoot+docs.Docs[index].Path || len(order) != 600 ||
				len(c.daemon.docs) != 600 {
				t.Errorf("%d writes, the last of %s", len(order), last)
			}
			for _, d := range docs.Docs {
				if c.daemon.docs["id-eval "+result.SeedRoot+d.Path] != string(d.Data) {
					t.Fatalf("%s was not written as it is", d.Path)
				}
			}
			posts := 0
			for _, call := range s.Calls() {
				if strings.HasSuffix(call.Path, "batch-ops") {
					posts++
				}
			}
			slices.Sort(c.batches)
			slices.Sort(c.daemon.batches)
			if !slices.Equal(c.batches, c.daemon.batches) || c.posts >= 0 && posts != c.posts {
				t.Errorf("batches of %v in %d requests", c.daemon.batches, posts)
			}
		})
	}
}

// TestFailedBatch checks that documents are not written one by one if a batch fails.
func TestFailedBatch(t *testing.T) {
	for name, c := range map[string]struct {
		daemon *manyBrains
		want   string
	}{
		"rejected": {&manyBrains{rejects: 400}, "write a batch of 4 documents from d0000.md on: " +
			"POST /v1/brains/id-eval/documents/batch-ops: 400 Bad Request"},
		"incomplete": {&manyBrains{short: true}, "the daemon reports 3 committed documents"},
		"too big": {&manyBrains{rejects: 413},
			"write a batch of 1 documents from d0000.md on: POST"},
		"no room": {&manyBrains{broken: "eval"}, "507"},
	} {
		s := daemontest.New(t, c.daemon.serve)
		_, err := seedOne(t.Context(), endpointAt(t, s.URL, ""), numbered(5))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, call := range s.Calls() {
			if call.Method == "PUT" {
				t.Errorf("%s: %s was written on its own", name, call.Path)
			}
		}
	}
}
