package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/internal/sse"
)

// stream is a stream of the changes of a brain.
type stream struct {
	body   io.ReadCloser
	events *sse.Reader
}

func (r *replica) stream(id string) *stream {
	r.Helper()
	res, err := http.Get(r.url + "/v1/brains/" + id + "/events")
	if err != nil || res.StatusCode != http.StatusOK {
		r.Fatalf("a stream of %s: %v, %v", id, res, err)
	}
	r.Cleanup(func() { res.Body.Close() })
	s := &stream{res.Body, sse.NewReader(res.Body, sse.MaxEvent)}
	if e, err := s.events.Next(); err != nil || e.Name != protocol.EventReady {
		r.Fatalf("a stream of %s begins with %+v, %v", id, e, err)
	}
	return s
}

// change returns the path of the next change, or an error at the end of the stream.
func (s *stream) change() (string, error) {
	for {
		e, err := s.events.Next()
		if err != nil || e.Name == protocol.EventChange {
			return string(e.Data), err
		}
	}
}

// metric returns the value of a metric without labels.
func (r *replica) metric(name string) string {
	_, body := r.expect(http.StatusOK, "GET", "/metrics", "")
	_, after, _ := strings.Cut(body, "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// TestStreamsOfReplica: any number of streams of a replica, which occupy none of its four
// connections to the database, get what another replica commits, and end when that one deletes
// their brain. Searches meanwhile find the brain or do not.
func TestStreamsOfReplica(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	database := postgrestest.Database(t)
	writer, reader := startReplicaOn(t, database), startReplicaOn(t, database+"&pool_max_conns=4")
	const brains, each = 10, 20
	id := func(i int) string { return fmt.Sprint("b", i%brains) }
	for i := range brains {
		writer.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"`+id(i)+`"}`)
	}
	before := inUse()
	var streams []*stream
	for i := range brains * each {
		streams = append(streams, reader.stream(id(i)))
	}
	t.Logf("%d streams take %d KiB, with their clients", len(streams), (inUse()-before)>>10)
	write := func(i int, path string) {
		writer.expect(http.StatusNoContent, "PUT", "/v1/brains/"+id(i)+"/documents?path="+path, "an otter")
	}
	wantAll := func(streams []*stream, path string) {
		t.Helper()
		for i, s := range streams {
			if got, err := s.change(); err != nil || !strings.Contains(got, path) {
				t.Fatalf("stream %d: got %s, %v, want the change of %s", i, got, err, path)
			}
		}
	}
	for i := range brains {
		write(i, "first.md")
	}
	wantAll(streams, "first.md")

	// The first brain is deleted while it is searched.
	var searching sync.WaitGroup
	for range 4 {
		searching.Go(func() {
			for status := http.StatusOK; status == http.StatusOK; {
				res, body := reader.send("GET", "/v1/brains/"+id(0)+"/search?q=otter", "")
				status = res.StatusCode
				if status != http.StatusNotFound && (status != http.StatusOK || !strings.Contains(body, "first.md")) {
					t.Errorf("a search during the deletion: %d %s", status, body)
				}
			}
		})
	}
	writer.delete(id(0))
	awaittest.Wait(t, "searching", searching.Wait)
	var left []*stream
	for i, s := range streams {
		if id(i) != id(0) {
			left = append(left, s)
			continue
		}
		if got, err := s.change(); err == nil {
			t.Errorf("a stream of the deleted brain got %s", got)
		}
	}
	for i := 1; i < brains; i++ {
		write(i, "second.md")
	}
	wantAll(left, "second.md")
	for _, s := range left {
		s.body.Close()
	}
	awaittest.Until(t, "the end of the streams of clients that have gone", func() bool { return reader.metric("evalctl_open_streams") == "0" })
}

// inUse returns the bytes of heap and stacks in use.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
