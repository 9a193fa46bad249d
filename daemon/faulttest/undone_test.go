package faulttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// TestFailoverWithLoss promotes a standby that lacks the last commits. From its first answer on,
// each replica must answer as if they had never been: also if other commits have their numbers, and
// whatever the replica is asked first.
func TestFailoverWithLoss(t *testing.T) {
	longtest.Skip(t)
	onlyLong(t)
	primary := postgrestest.NewWith(t, fast)
	url := primary.Database()
	link := postgrestest.NewProxy(t, primary.Addr())
	standby := primary.Standby(link.Addr())
	url = primary.Either(url, standby)
	f := newFleetAt(t, url, []string{url, url, url})
	u := &undoing{fleet: f, t: t}

	u.create("notes")
	for i := range 6 {
		u.write(0, "notes", fmt.Sprintf("old%d.md", i), "oldword")
	}
	primary.CatchUp(standby)
	link.Cut()
	streams := u.attach("notes")
	for i := range 5 {
		u.write(i%replicas, "notes", fmt.Sprintf("lost%d.md", i), "lostword")
	}
	u.write(1, "notes", "old0.md", "lostword")
	u.delete(2, "notes", "old1.md")
	u.create("lost")
	u.write(1, "lost", "lost.md", "lostword")
	for i := range f.replicas {
		u.finds(i, "notes", "lostword", "lost0.md", "lost1.md", "lost2.md", "lost3.md", "lost4.md", "old0.md")
		u.finds(i, "lost", "lostword", "lost.md")
	}
	for _, s := range streams {
		s.wait(t, "the events before the failover", func() bool { return len(s.events) == 7 })
	}

	primary.Stop("immediate")
	standby.Promote()
	// The next number of the sequence is that of the lost brain.
	u.exec("SELECT setval(pg_get_serial_sequence('evalctl.brains', 'uid'), 1)", url)
	u.create("another")
	u.write(0, "another", "another.md", "newword")
	// As many commits as were lost, and a replica whose own next commit continues its old numbers.
	for i := range 7 {
		u.write(0, "notes", fmt.Sprintf("new%d.md", i), "newword")
	}
	u.write(1, "notes", "new7.md", "newword")
	want := []string{"new0.md", "new1.md", "new2.md", "new3.md", "new4.md", "new5.md", "new6.md", "new7.md"}
	for i := range f.replicas {
		u.finds(i, "notes", "newword", want...)
		u.finds(i, "notes", "lostword")
		u.finds(i, "notes", "oldword", "old0.md", "old1.md", "old2.md", "old3.md", "old4.md", "old5.md")
		u.finds(i, "another", "lostword")
		if err := u.again(func() error { _, err := u.brain(i, "lost").List(t.Context(), "", client.ListOptions{}); return err }); !client.IsNotFound(err) {
			t.Errorf("replica %d: the lost brain: %v, want that it is not found", i, err)
		}
	}
	for i, s := range streams {
		s.wait(t, "the end of the stream", func() bool { return s.ended })
		for _, e := range s.events {
			if strings.HasPrefix(e.Path, "new") {
				t.Errorf("replica %d: the stream goes on with %s after commits that were undone", i, e.Path)
			}
		}
	}
	again := u.attach("notes")
	u.write(0, "notes", "last.md", "lastword")
	for _, s := range again {
		s.wait(t, "the next event", func() bool {
			return slices.ContainsFunc(s.events, func(e protocol.ChangeEvent) bool { return e.Path == "last.md" })
		})
	}
}

// undoing sends requests until they are answered.
type undoing struct {
	*fleet
	t *testing.T
}

func (u *undoing) brain(replica int, id string) *client.Brain {
	return u.at(u.replicas[replica].URL()).Brain(id)
}

// again repeats what fails because the database does not answer.
func (u *undoing) again(do func() error) error {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		problem, ok := errors.AsType[*client.Error](err)
		if !ok || problem.Status != http.StatusServiceUnavailable || time.Since(begun) > u.settle {
			return err
		}
	}
}

func (u *undoing) must(what string, do func() error) {
	u.t.Helper()
	if err := u.again(do); err != nil {
		u.t.Fatalf("%s: %v", what, err)
	}
}

// exec runs SQL in a database.
func (u *undoing) exec(sql, url string) {
	u.t.Helper()
	conn, err := pgx.Connect(u.t.Context(), url)
	if err != nil {
		u.t.Fatal(err)
	}
	defer conn.Close(u.t.Context())
	if _, err := conn.Exec(u.t.Context(), sql); err != nil {
		u.t.Fatal(err)
	}
}

func (u *undoing) create(id string) {
	u.t.Helper()
	u.must("create "+id, func() error {
		_, err := u.at(u.replicas[0].URL()).CreateBrain(u.t.Context(), protocol.CreateBrain{ID: id, Name: id})
		return err
	})
}

func (u *undoing) write(replica int, brain, path, word string) {
	u.t.Helper()
	u.must("write "+path, func() error {
		return u.brain(replica, brain).Write(u.t.Context(), path, []byte("# "+path+"\n\nThe note "+path+" says "+word+".\n"))
	})
}

func (u *undoing) delete(replica int, brain, path string) {
	u.t.Helper()
	u.must("delete "+path, func() error { return u.brain(replica, brain).Delete(u.t.Context(), path) })
}

// finds checks which documents a search for a word finds.
func (u *undoing) finds(replica int, brain, word string, want ...string) {
	u.t.Helper()
	var got []string
	u.must("search", func() error {
		found, err := u.brain(replica, brain).Search(u.t.Context(),
			protocol.SearchRequest{Query: word, TopK: 20, Mode: protocol.ModeBM25})
		got = nil
		for _, c := range found.Chunks {
			got = append(got, c.Path)
		}
		return err
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		u.t.Errorf("replica %d: a search for %s in %s found %q, want %q", replica, word, brain, got, want)
	}
}

// stream is what an event stream has delivered.
type stream struct {
	mu     sync.Mutex
	events []protocol.ChangeEvent
	ended  bool
}

// attach follows a brain at each replica, until the stream or the test ends.
func (u *undoing) attach(brain string) (all []*stream) {
	u.t.Helper()
	for i := range u.replicas {
		s, attached := &stream{}, make(chan struct{})
		ctx, cancel := context.WithCancel(u.t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			_ = u.brain(i, brain).Events(ctx, func() { close(attached) }, func(e protocol.ChangeEvent) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.events = append(s.events, e)
				return nil
			})
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = true
		})
		u.t.Cleanup(running.Wait)
		u.t.Cleanup(cancel)
		select {
		case <-attached:
		case <-time.After(u.settle):
			u.t.Fatalf("replica %d attaches no stream", i)
		}
		all = append(all, s)
	}
	return all
}

func (s *stream) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		done := ok()
		s.mu.Unlock()
		if done {
			return
		}
		if time.Since(begun) > settleTime {
			t.Fatalf("waited in vain: %s; %+v, ended %t", what, s.events, s.ended)
		}
	}
}
