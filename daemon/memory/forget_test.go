package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// holds returns the paths of the documents of a brain, generated ones included, that have a text.
func (f *fixture) holds(t testing.TB, text string) (paths []string) {
	for path, content := range f.all(t) {
		if strings.Contains(content, text) && path != "notes/mine.md" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// TestDeleteSession checks that nothing is left of a session but what another one states as well.
func TestDeleteSession(t *testing.T) {
	for kind, cfg := range everyStore(t) {
		t.Run(kind, func(t *testing.T) {
			s := openWith(t, cfg, Config{})
			s.putExample(t)
			for _, id := range []string{"s1", "s2", "s10"} {
				s.say(t, id, user("The sail was expensive, says "+id+"."))
			}
			s.putFacts(t, "s10", mayDay(2), said("Ben: I keep bees.")...)
			s.consolidate(t, false)
			const note = "memory/global/notes/ana-i-have-a-brother-in-lima.md"
			for _, text := range []string{"was expensive", "Boat Clara", "brother in Lima"} {
				if len(s.holds(t, text)) == 0 {
					t.Fatalf("nothing has %q before", text)
				}
			}
			if err := s.DeleteSession(t.Context(), s.brain, "s1"); err != nil {
				t.Fatal(err)
			}
			if got := s.holds(t, "was expensive"); !slices.Equal(got, []string{"sessions/s10/_messages-0001.jsonl", "sessions/s10/transcript-0001.md", "sessions/s2/_messages-0001.jsonl", "sessions/s2/transcript-0001.md"}) {
				t.Errorf("what only the session said is in %q", got)
			}
			if got := s.holds(t, "brother in Lima"); !slices.Equal(got, []string{note}) {
				t.Errorf("what another session says too is in %q", got)
			}
			if text := s.read(t, note); strings.Contains(text, "facts/s1.md") || !strings.Contains(text, "facts/s2.md") || !isSealed(text) {
				t.Errorf("the note is now\n%s", text)
			}
			if got := s.holds(t, "keep bees"); len(got) == 0 {
				t.Error("the facts of a session whose id begins alike are gone")
			}
			if err := s.DeleteSession(t.Context(), s.brain, "s1"); !store.IsNotFound(err) {
				t.Errorf("once more: %v", err)
			}
			if err := s.DeleteSession(t.Context(), s.brain, "s2"); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"Clara", "Lima", "says s2"} {
				if got := s.holds(t, text); len(got) > 0 {
					t.Errorf("%q is in %q", text, got)
				}
			}
			s.consolidate(t, false)
			if err := s.DeleteSession(t.Context(), s.brain, "bad\n"); !isArgument(err, "session_id") {
				t.Error(err)
			}
		})
	}
}

// TestDeleteTranscript checks that the facts of a transcript leave with it.
func TestDeleteTranscript(t *testing.T) {
	s := open(t)
	create := func(path, text string) {
		t.Helper()
		_, err := s.CreateDocument(t.Context(), s.brain, protocol.CreateDocument{Path: path, Content: text, Source: protocol.SourceExtract})
		if err != nil {
			t.Fatal(err)
		}
		awaittest.Until(t, "the facts are extracted", func() bool { return s.isThere(t, documentFactsPath(path)) })
	}
	for _, del := range []func() error{
		func() error { return s.Delete(t.Context(), s.brain, "talk.md") },
		func() error { return s.DeleteDocument(t.Context(), s.brain, "talk.md") },
	} {
		create("talk.md", "I have a brother in Lima.")
		if err := del(); err != nil {
			t.Fatal(err)
		}
		if got := s.holds(t, "Lima"); len(got) > 0 {
			t.Errorf("it is still in %q", got)
		}
	}
	if err := s.Delete(t.Context(), s.brain, "talk.md"); !store.IsNotFound(err) {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), s.brain, "../x"); !errors.Is(err, store.ErrInvalidPath) {
		t.Error(err)
	}
}

// TestChangedTranscript checks that the facts of a transcript leave when it is replaced, and follow
// it when it is renamed.
func TestChangedTranscript(t *testing.T) {
	s := open(t)
	changed := func(paths ...string) {
		t.Helper()
		s.Changed(t.Context(), s.brain, paths, paths)
	}
	s.put(t, "plain.md", "I have a brother in Lima.")
	changed("plain.md")
	if got := s.holds(t, "Lima"); !slices.Equal(got, []string{"plain.md"}) {
		t.Errorf("a document that is no transcript made %q", got)
	}
	s.put(t, "plain.md", "nothing")
	_, err := s.CreateDocument(t.Context(), s.brain, protocol.CreateDocument{Path: "talk.md", Content: "I have a brother in Lima.", Source: protocol.SourceExtract})
	if err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the facts are extracted", func() bool { return s.isThere(t, documentFactsPath("talk.md")) })
	if err := s.store(t).Rename(t.Context(), "talk.md", "moved.md"); err != nil {
		t.Fatal(err)
	}
	changed("talk.md", "moved.md")
	awaittest.Until(t, "the facts have followed", func() bool { return s.isThere(t, documentFactsPath("moved.md")) })
	if s.isThere(t, documentFactsPath("talk.md")) {
		t.Error("the facts of the earlier name are still there")
	}
	s.put(t, "moved.md", "---\nsource: extract\n---\nI have a sister in Oslo.")
	changed("moved.md")
	if got := s.holds(t, "Lima"); len(got) > 0 {
		t.Errorf("what was replaced is in %q", got)
	}
	there := func() bool { return s.isThere(t, documentFactsPath("moved.md")) }
	awaittest.Until(t, "the facts of the new text", there)
	s.Changed(t.Context(), s.brain, []string{"moved.md"}, nil) // late, after a change before that one
	awaittest.Until(t, "the facts of the present text", there)
}

// compiling returns a model that makes one summary of everything that a request has, with all its
// text, as long as more returns true.
func compiling(more func() bool) *model {
	return &model{reply: func(_ int32, input string) (string, error) {
		var in struct {
			Notes []struct {
				ID   int    `json:"id"`
				Text string `json:"text"`
			} `json:"notes"`
		}
		if err := json.Unmarshal([]byte(input), &in); err != nil || !more() {
			return `{"summaries": []}`, err
		}
		var texts []string
		var from []int
		for _, n := range in.Notes {
			texts, from = append(texts, n.Text), append(from, n.ID)
		}
		reply, err := json.Marshal(map[string]any{"summaries": []any{
			map[string]any{"title": "Ana", "text": strings.Join(texts, " "), "from": from},
		}})
		return string(reply), err
	}}
}

// TestForgetASummaryOfASupersededNote checks that a summary of a note leaves with a session that
// the note came from, also when the note has been deleted before.
func TestForgetASummaryOfASupersededNote(t *testing.T) {
	first := true
	s := withModel(t, brain.Config{}, compiling(func() bool { return first }))
	for i, text := range []string{"Ana: I live in Lima.", "Ana: I live in Lima.", "Ana: My boat is red."} {
		id := fmt.Sprint("s", i+1)
		s.say(t, id, user("hello"))
		s.putFacts(t, id, mayDay(i+1), said(text)...)
	}
	if got := s.consolidate(t, false); len(got.Promoted) != 1 || len(got.Compiled) != 1 {
		t.Fatalf("got %+v", got)
	}
	first = false
	s.putFacts(t, "s4", mayDay(9), said("Ana: I live in Oslo.")...)
	s.consolidate(t, false)
	for _, path := range s.holds(t, "Lima") {
		if strings.HasPrefix(path, notesFolder) {
			t.Fatalf("%s was not superseded", path)
		}
	}
	for _, id := range []string{"s1", "s2"} {
		if err := s.DeleteSession(t.Context(), s.brain, id); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.holds(t, "Lima"); len(got) > 0 {
		t.Errorf("it is still in %q", got)
	}
}

// TestForgetOneOfManySources: the front matter of notes and summaries cannot name all their
// sources. A summary leaves with any session that it may come from, but a note stays as long as a
// session may state it that it does not name.
func TestForgetOneOfManySources(t *testing.T) {
	s := withModel(t, brain.Config{}, compiling(func() bool { return true }))
	var ids []string
	for i := range 100 {
		id := fmt.Sprintf("%08d-aaaa-4bbb-8ccc-dddddddddddd", i)
		ids = append(ids, id)
		s.say(t, id, user("hello"))
		s.putFacts(t, id, mayDay(i+1), said("Ana: I have a brother in Lima.", fmt.Sprintf("Ana: Boat <%d> sails.", i))...)
	}
	got := s.consolidate(t, false)
	if len(got.Promoted) != 1 || len(got.Compiled) == 0 {
		t.Fatalf("got %+v", got)
	}
	summaries, then := s.holds(t, "<0>"), s.cfg.Now
	s.cfg.Now = func() time.Time { return time.Now().Add(time.Hour) }
	s.say(t, "new", user("hello"))
	if err := s.DeleteSession(t.Context(), s.brain, "new"); err != nil {
		t.Fatal(err)
	}
	if left := s.holds(t, "<0>"); !slices.Equal(left, summaries) {
		t.Errorf("a session that began after the summaries took %q to %q", summaries, left)
	}
	s.cfg.Now = then
	note := got.Promoted[0].Path
	if text := s.read(t, note); strings.Contains(text, ids[0]) || !strings.Contains(text, ids[99]) {
		t.Fatalf("the note names other sources than its last ones:\n%s", text)
	}
	named := 0
	for i, id := range ids {
		if i > 0 && !strings.Contains(s.read(t, note), id) {
			continue // still states the note
		}
		if err := s.DeleteSession(t.Context(), s.brain, id); err != nil {
			t.Fatal(err)
		}
		named++
		if got := s.holds(t, fmt.Sprintf("<%d>", i)); len(got) > 0 {
			t.Errorf("what session %d said is in %q", i, got)
		}
		if !s.isThere(t, note) {
			t.Fatalf("the note is gone after %d of 100 sessions", named)
		}
	}
	if named == 1 || named == len(ids) {
		t.Errorf("%d sessions were deleted", named)
	}
	if text := s.read(t, note); !isSealed(text) {
		t.Errorf("the note is now\n%s", text)
	}
	s.putFacts(t, "another", mayDay(200), said("Ana: I have a brother in Lima.")...)
	if got := s.consolidate(t, false); len(got.Promoted) != 1 || got.Promoted[0].Path != note {
		t.Errorf("the note is no longer the daemon's: %+v", got)
	}
}

// TestForgetPromotedTranscripts checks that what two transcripts said leaves with the second one,
// also after a consolidation that has left neither of them facts of its own.
func TestForgetPromotedTranscripts(t *testing.T) {
	const fact = "I have a brother in Lima."
	talks := []string{"talk1.md", "talk2.md"}
	for name, forget := range map[string]func(*fixture, string) error{
		"delete": func(s *fixture, path string) error { return s.Delete(t.Context(), s.brain, path) },
		"by id":  func(s *fixture, path string) error { return s.DeleteDocument(t.Context(), s.brain, path) },
		"replace": func(s *fixture, path string) error {
			s.put(t, path, "nothing")
			s.Changed(t.Context(), s.brain, []string{path}, []string{path})
			return nil
		},
		"delete in a batch": func(s *fixture, path string) error {
			if err := s.store(t).Delete(t.Context(), path); err != nil {
				return err
			}
			s.Changed(t.Context(), s.brain, []string{"other.md", path}, nil)
			return nil
		},
	} {
		for _, reopened := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " reopened ", reopened), func(t *testing.T) {
				disk := onDisk(t.TempDir())["fs"]
				s := openWith(t, disk, Config{})
				// A write before, so that what the consolidation makes is heard of, not looked for.
				s.Changed(t.Context(), s.brain, []string{"before.md"}, nil)
				for _, path := range talks {
					_, err := s.CreateDocument(t.Context(), s.brain, protocol.CreateDocument{Path: path, Content: fact, Source: protocol.SourceExtract})
					if err != nil {
						t.Fatal(err)
					}
				}
				s.extracted(t)
				if got := s.consolidate(t, false); len(got.Promoted) != 1 || s.isThere(t, documentFactsPath(talks[0])) {
					t.Fatalf("got %+v", got)
				}
				if reopened { // nothing that this process has seen says that there were transcripts
					s.Close()
					if err := s.brains.Close(); err != nil {
						t.Fatal(err)
					}
					s = openWith(t, disk, Config{})
				}
				if err := forget(s, talks[0]); err != nil {
					t.Fatal(err)
				}
				note := s.holds(t, "Lima")
				if len(note) != 2 || !strings.HasPrefix(note[0], notesFolder) || note[1] != talks[1] {
					t.Errorf("what the second one says too is in %q", note)
				}
				if err := forget(s, talks[1]); err != nil {
					t.Fatal(err)
				}
				if got := s.holds(t, "Lima"); len(got) > 0 {
					t.Errorf("it is still in %q", got)
				}
			})
		}
	}
}

// TestTranscriptChangesMeanwhile checks that facts come from the present text, under the present
// name, if a transcript changes while the model reads it.
func TestTranscriptChangesMeanwhile(t *testing.T) {
	const transcript = "---\nsource: extract\n---\nnew"
	for name, c := range map[string]struct {
		change func(*testing.T, *fixture) []string // returns the changed paths
		want   map[string]string                   // the facts by path
	}{
		"replaced": {func(t *testing.T, s *fixture) []string {
			s.put(t, "talk.md", transcript)
			return []string{"talk.md"}
		}, map[string]string{"talk.md": "- Said: new"}},
		"replaced by no transcript": {func(t *testing.T, s *fixture) []string {
			s.put(t, "talk.md", "new")
			return []string{"talk.md"}
		}, nil},
		"renamed": {func(t *testing.T, s *fixture) []string {
			if err := s.store(t).Rename(t.Context(), "talk.md", "moved.md"); err != nil {
				t.Fatal(err)
			}
			return []string{"talk.md", "moved.md"}
		}, map[string]string{"moved.md": "- 2024-05-01: Said: old"}},
		"not announced": {func(t *testing.T, s *fixture) []string {
			s.put(t, "talk.md", transcript)
			return nil
		}, map[string]string{"talk.md": "- Said: new"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, begun, release := waitingModel()
			s := withModel(t, brain.Config{}, m)
			remember(t, s, protocol.CreateDocument{Path: "talk.md", Content: "old", Source: protocol.SourceExtract})
			awaittest.Receive(t, "begun", begun)
			changed := c.change(t, s)
			s.Changed(t.Context(), s.brain, changed, changed)
			close(release)
			for _, j := range s.extracted(t) {
				if j.Status != protocol.JobCompleted {
					t.Errorf("%+v", j)
				}
			}
			for _, path := range []string{"talk.md", "moved.md"} {
				var lines []string
				if facts := documentFactsPath(path); s.isThere(t, facts) {
					for _, f := range parseFacts(s.read(t, facts)) {
						lines = append(lines, f.String())
					}
				}
				if got := strings.Join(lines, "\n"); got != c.want[path] {
					t.Errorf("the facts of %s are %q, want %q", path, got, c.want[path])
				}
			}
		})
	}
}

// TestChangedToATranscript checks that a transcript is read even if the text before it had no
// facts, but not the daemon's own documents of facts, which have the same source.
func TestChangedToATranscript(t *testing.T) {
	s := withModel(t, brain.Config{}, &model{reply: factPerMessage})
	s.putFacts(t, "s1", mayDay(1), said("Ana: I live in Porto.")...)
	edited := s.read(t, factsPath("s1")) + "\nMine.\n"
	paths := []string{"talk.md", "notes/kept.md", factsPath("s1"), factsPath("mine"), "talk.txt"}
	s.put(t, "notes/kept.md", edited)
	s.put(t, factsPath("s1"), edited)
	s.put(t, factsPath("mine"), "---\nsource: extract\n---\n- mine")
	s.put(t, "talk.txt", "---\nsource: extract\n---\nplain")
	s.put(t, "talk.md", "---\nsource: extract\n---\nhello")
	s.Changed(t.Context(), s.brain, paths, paths)
	if jobs := s.extracted(t); len(jobs) != 1 || !s.isThere(t, documentFactsPath("talk.md")) {
		t.Errorf("%+v", jobs)
	}
}

func (f *fixture) isThere(t testing.TB, path string) bool {
	there, err := f.store(t).Exists(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return there
}
