package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// startServe starts a daemon process with a home, and returns a client of it. kill ends the process
// without warning and waits for it.
func startServe(t *testing.T, home, store string) (c *client.Client, kill func()) {
	t.Helper()
	url, cmd := serveProcess(t, nil, "--home", home, "--store", store)
	c, err := client.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func awaitIngest(t *testing.T, b *client.Brain, id string) (protocol.Job, protocol.IngestResponse) {
	t.Helper()
	for deadline := time.Now().Add(awaitTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		job, err := b.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == protocol.JobFailed {
			t.Fatalf("the job failed: %+v", job.Error)
		}
		if job.Status == protocol.JobCompleted {
			var response protocol.IngestResponse
			if err := json.Unmarshal(job.Result, &response); err != nil {
				t.Fatal(err)
			}
			return job, response
		}
	}
	t.Fatal("the job did not end")
	return protocol.Job{}, protocol.IngestResponse{}
}

// TestQueuedIngestSurvivesKill kills a daemon at several moments after it has queued a large file.
// The next one ends with the same document as a daemon that is not killed.
func TestQueuedIngestSurvivesKill(t *testing.T) {
	t.Parallel()
	created := regexp.MustCompile(`(?m)^created_at: .*$`)
	text := strings.Repeat("The walrus lives in the sea, and *never* on the shelf.\n\n", 80_000)
	file := protocol.IngestFile{Path: "notes/sea.txt", Title: "The Sea", Tags: []string{"a", "b"}, Content: []byte(text)}
	for _, store := range []string{"fs", "git"} {
		for _, delay := range []time.Duration{0, 30 * time.Millisecond, 150 * time.Millisecond} {
			t.Run(fmt.Sprint(store, " after ", delay), func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				c, kill := startServe(t, home, store)
				for _, id := range []string{"killed", "calm"} {
					if _, err := c.CreateBrain(t.Context(), protocol.CreateBrain{ID: id}); err != nil {
						t.Fatal(err)
					}
				}
				queued, err := c.Brain("killed").IngestFile(t.Context(), file)
				if err != nil || queued.Status != protocol.IngestQueued {
					t.Fatalf("got %+v, %v", queued, err)
				}
				time.Sleep(delay)
				kill()
				c, kill = startServe(t, home, store)
				if _, err := c.Brain("killed").Stat(t.Context(), "jobs"); err != nil { // any operation resumes
					t.Fatal(err)
				}
				time.Sleep(delay)
				kill()

				c, _ = startServe(t, home, store)
				job, got := awaitIngest(t, c.Brain("killed"), queued.JobID)
				if job.Attempts > 3 || got.Path != "notes/sea.txt.md" || got.Reused {
					t.Errorf("job %+v, result %+v", job, got)
				}
				calm, err := c.Brain("calm").IngestFile(t.Context(), file)
				if err != nil {
					t.Fatal(err)
				}
				_, want := awaitIngest(t, c.Brain("calm"), calm.JobID)
				got.DurationMS, want.DurationMS = 0, 0
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
				documents := map[string]string{}
				for _, id := range []string{"killed", "calm"} {
					data, err := c.Brain(id).Read(t.Context(), got.Path)
					if err != nil {
						t.Fatal(err)
					}
					documents[id] = created.ReplaceAllString(string(data), "")
					files, err := c.Brain(id).List(t.Context(), "", client.ListOptions{Recursive: true, IncludeGenerated: true})
					if err != nil || len(files) != 4 { // document, original, record and job
						t.Errorf("%s: files %+v, %v", id, files, err)
					}
				}
				if documents["killed"] != documents["calm"] {
					t.Error("the documents differ")
				}
			})
		}
	}
}
