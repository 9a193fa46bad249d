package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// mayDay returns midnight of a day of May 2023, a year before the fixture's clock.
func mayDay(n int) time.Time { return time.Date(2023, 5, n, 0, 0, 0, 0, time.UTC) }

// putFacts writes the facts of a session as the daemon does.
func (f *fixture) putFacts(t testing.TB, session string, when time.Time, facts ...fact) {
	t.Helper()
	text, err := factsDocument(session, when, facts)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, factsPath(session), text)
}

func (f *fixture) putEpisode(t testing.TB, name string, when time.Time, title, body string) string {
	t.Helper()
	text, err := sealedDocument(body, frontmatter.Fields{Title: title, Date: when, Source: protocol.SourceReflect})
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, episodesFolder+name+".md", text)
	return text
}

func (f *fixture) consolidate(t testing.TB, dryRun bool) protocol.Consolidation {
	t.Helper()
	got, err := f.Consolidate(context.Background(), f.brain, protocol.ConsolidateRequest{DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
	return got.Result
}

// all returns every document of the brain, the generated ones too.
func (f *fixture) all(t testing.TB) map[string]string {
	t.Helper()
	st := f.store(t)
	files, err := st.List(context.Background(), "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		data, err := st.Read(context.Background(), file.Path)
		if err != nil {
			t.Fatal(err)
		}
		out[file.Path] = string(data)
	}
	return out
}

func said(facts ...string) []fact {
	var list []fact
	for _, text := range facts {
		list = append(list, fact{Text: text})
	}
	return list
}

// putExample fills a brain in which there is something of everything to do.
func (f *fixture) putExample(t testing.TB) {
	f.putFacts(t, "s1", mayDay(1), said(
		"Ana: I live in Porto.", "Ana: My boat Clara needs a new sail.", "Ana: The sail was expensive.",
		"Ana: the sail was expensive", "Ana: I have a brother in Lima.")...)
	f.putFacts(t, "s2", mayDay(8), said("Ana: I have a brother in Lima!", "Ana: My boat Clara got the new sail.")...)
	f.putFacts(t, "s3", mayDay(20), said("Ana: I live in Lisbon.")...)
	f.putEpisode(t, "2023-05-01-s1", mayDay(1), "Boat Clara sail repair", "- Ana: We repaired the sail of the boat Clara.")
	f.putEpisode(t, "2023-05-08-s2", mayDay(8), "Boat Clara sail repair", "- Ana: The sail of the boat Clara is new.")
	f.put(t, "notes/mine.md", "Ana: I live in Porto.")
}

func TestConsolidate(t *testing.T) {
	for kind, cfg := range everyStore(t) {
		t.Run(kind, func(t *testing.T) {
			s := openWith(t, cfg, Config{})
			s.putExample(t)
			before := s.all(t)
			dry := s.consolidate(t, true)
			if diff := cmp.Diff(before, s.all(t)); diff != "" {
				t.Fatalf("a dry run changed: %s", diff)
			}
			seq := s.store(t).Seq()
			got := s.consolidate(t, false)
			if n := s.store(t).Seq() - seq; n != 1 {
				t.Errorf("%d commits", n)
			}
			after := s.all(t)
			const (
				note    = "memory/global/notes/ana-i-have-a-brother-in-lima.md"
				summary = "memory/global/summaries/boat-clara-sail-repair.md"
				s1, s2  = "memory/agent/facts/s1.md", "memory/agent/facts/s2.md"
				s3      = "memory/agent/facts/s3.md"
				e1, e2  = "memory/agent/episodes/2023-05-01-s1.md", "memory/agent/episodes/2023-05-08-s2.md"
			)
			action := func(path, reason string, from ...string) protocol.ConsolidationAction {
				return protocol.ConsolidationAction{Path: path, From: append([]string{}, from...), Reason: reason}
			}
			want := protocol.Consolidation{
				Compiled: got.Compiled, Record: got.Record, Model: "fake",
				Promoted: []protocol.ConsolidationAction{action(note, `2 sessions state the fact "Ana: I have a brother in Lima."`, s1, s2)},
				Pruned: []protocol.ConsolidationAction{
					action(e1, "the episode of 2023-05-01 is covered by "+summary, summary),
					action(e2, "the episode of 2023-05-08 is covered by "+summary, summary),
					action(s1, `the fact "Ana: the sail was expensive" is repeated in `+s1, s1),
					action(s1, `the fact "Ana: I have a brother in Lima." is promoted to `+note, note),
					action(s1, `the fact "Ana: I live in Porto." is superseded by a newer one in `+s3, s3),
					action(s2, `the fact "Ana: I have a brother in Lima!" is promoted to `+note, note),
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(got.Compiled) != 1 || got.Compiled[0].Path != summary || !slices.Contains(got.Compiled[0].From, e1) {
				t.Errorf("compiled %+v", got.Compiled)
			}
			dry.DryRun, dry.Record = false, got.Record
			if diff := cmp.Diff(dry, got); diff != "" {
				t.Errorf("the dry run differs: %s", diff)
			}
			checkLosses(t, before, after)
			if after["notes/mine.md"] != before["notes/mine.md"] || after[e1] != "" || after[e2] != "" {
				t.Error("wrong documents were changed")
			}
			wantFacts := said("Ana: My boat Clara needs a new sail.", "Ana: The sail was expensive.")
			if diff := cmp.Diff(wantFacts, parseFacts(after[s1])); diff != "" || !isSealed(after[s1]) {
				t.Errorf("facts left: %s", diff)
			}
			for _, path := range []string{note, summary} {
				doc := frontmatter.Parse(after[path])
				if doc.Source != "compile" || !isSealed(after[path]) || doc.Metadata["sources"] == nil {
					t.Errorf("%s: %s", path, after[path])
				}
			}
			if doc := frontmatter.Parse(after[note]); !doc.Date.Equal(mayDay(8)) || strings.TrimSpace(doc.Body) != "- Ana: I have a brother in Lima." {
				t.Errorf("note %s", after[note])
			}

			seq = s.store(t).Seq()
			again := s.consolidate(t, false)
			if len(again.Compiled)+len(again.Promoted)+len(again.Pruned) > 0 || again.Record+again.Model != "" || s.store(t).Seq() != seq {
				t.Errorf("the second run did %+v", again)
			}
		})
	}
}

// checkLosses: of every document and every fact that is gone, the text is in a record of its path.
func checkLosses(t testing.TB, before, after map[string]string) {
	t.Helper()
	records := ""
	for path, text := range after {
		if strings.HasPrefix(path, "memory/consolidations/_2") && before[path] == "" {
			records += text
		}
	}
	left := ""
	for _, text := range after {
		left += text
	}
	for path, text := range before {
		if after[path] == text || strings.HasPrefix(path, consolidationsFolder) {
			continue
		}
		if strings.HasPrefix(path, factsFolder) {
			for _, f := range parseFacts(text) {
				if !strings.Contains(after[path], f.String()+"\n") && !strings.Contains(records, "\n"+f.String()+"\n") {
					t.Errorf("fact %q of %s is lost", f, path)
				}
			}
			if after[path] != "" {
				continue
			}
		}
		if !strings.Contains(records, "\n"+text+"\n") || !strings.Contains(records, plainPath(path)) || !strings.Contains(records, sealOf(text)) {
			t.Errorf("%s is lost: %s", path, records)
		}
	}
}

// TestConsolidateLeavesWhatIsNotItsOwn: nothing of a user is changed, also in the daemon's folders.
func TestConsolidateLeavesWhatIsNotItsOwn(t *testing.T) {
	s := open(t)
	s.putExample(t)
	users := map[string]string{}
	for path, text := range s.all(t) {
		users[path] = strings.Replace(text, "source: ", "mine: true\nsource: ", 1) // edited
		users[strings.Replace(path, ".md", "-copy.md", 1)] = frontmatter.Parse(text).Body
	}
	users["memory/global/summaries/_x.md"], users["memory/global/notes/x.json"] = "x", "{}"
	for path, text := range users {
		s.put(t, path, text)
	}
	got := s.consolidate(t, false)
	if got.Record != "" || len(got.Compiled)+len(got.Promoted)+len(got.Pruned) > 0 {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(users, s.all(t)); diff != "" {
		t.Error(diff)
	}
}

func TestConsolidateNothing(t *testing.T) {
	s := open(t)
	got := s.consolidate(t, false)
	if diff := cmp.Diff(protocol.Consolidation{
		Compiled: []protocol.ConsolidationAction{}, Promoted: []protocol.ConsolidationAction{}, Pruned: []protocol.ConsolidationAction{},
	}, got); diff != "" || len(s.all(t)) > 0 {
		t.Error(diff, s.all(t))
	}
}

// TestSummariesGrow: a new fact on the subject of a summary extends it, and its old text is
// recorded.
func TestSummariesGrow(t *testing.T) {
	s := open(t)
	s.putExample(t)
	first := s.consolidate(t, false).Compiled[0].Path
	before := s.all(t)
	s.putFacts(t, "s4", mayDay(25), said("Ana: The boat Clara lost her sail repair kit.")...)
	got := s.consolidate(t, false)
	if len(got.Compiled) != 1 || got.Compiled[0].Path != first || !slices.Contains(got.Compiled[0].From, factsPath("s4")) {
		t.Fatalf("compiled %+v", got.Compiled)
	}
	after := s.all(t)
	checkLosses(t, before, after)
	for _, text := range []string{"repair kit", "We repaired the sail"} {
		if !strings.Contains(after[first], text) {
			t.Errorf("%q is not in %s", text, after[first])
		}
	}
	if !strings.Contains(after[got.Record], "## Replaced") {
		t.Errorf("record %s", after[got.Record])
	}
	if again := s.consolidate(t, false); again.Record != "" {
		t.Errorf("again %+v", again)
	}
}

// TestEditedSummary: a summary that a user has edited is the user's, and covers nothing any more.
func TestEditedSummary(t *testing.T) {
	s := open(t)
	s.putEpisode(t, "a", epoch, "Boat Clara sail repair", "- one")
	s.putEpisode(t, "b", epoch, "Boat Clara sail repair", "- two")
	path := s.consolidate(t, false).Compiled[0].Path
	mine := s.all(t)[path] + "my own words\n"
	s.put(t, path, mine)
	s.putEpisode(t, "c", epoch, "Boat Clara sail repair", "- three")
	got := s.consolidate(t, false)
	after := s.all(t)
	if len(got.Compiled) != 1 || got.Compiled[0].Path != strings.Replace(path, ".md", "-2.md", 1) || after[path] != mine {
		t.Errorf("compiled %+v", got.Compiled)
	}
	if len(got.Pruned) > 0 {
		t.Errorf("recent episodes were pruned: %+v", got.Pruned)
	}
}

func TestFactsAgainstNotes(t *testing.T) {
	s := open(t)
	s.putFacts(t, "s1", mayDay(1), said("Ana: I live in Porto.", "Bob: The name of my dog is Rex.")...)
	s.putFacts(t, "s2", mayDay(2), said("Ana: I live in Porto.", "Bob: The name of my dog is Rex.")...)
	if got := s.consolidate(t, false); len(got.Promoted) != 2 || s.all(t)[factsPath("s1")]+s.all(t)[factsPath("s2")] != "" {
		t.Fatalf("got %+v", got)
	}
	s.putFacts(t, "s3", mayDay(3), said("Ana: I live in Lisbon.", "Bob: The name of my dog is Rex!")...)
	before := s.all(t)
	got := s.consolidate(t, false)
	after := s.all(t)
	checkLosses(t, before, after)
	if after["memory/global/notes/ana-i-live-in-porto.md"] != "" || after["memory/global/notes/bob-the-name-of-my-dog-is-rex.md"] == "" || len(got.Pruned) != 2 {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(said("Ana: I live in Lisbon."), parseFacts(after[factsPath("s3")])); diff != "" {
		t.Error(diff)
	}
}

// TestNotesKeepTheirDays: no day on which something was stated is lost by its promotion.
func TestNotesKeepTheirDays(t *testing.T) {
	s := open(t)
	s.putFacts(t, "s1", mayDay(1), fact{"Ana went running.", mayDay(1)}, fact{"Ana went running.", mayDay(3)}, fact{"Ana went running!", mayDay(3)})
	if got := s.consolidate(t, false); len(got.Pruned) != 1 || len(got.Promoted) != 0 {
		t.Errorf("in one session: %+v", got)
	}
	s.putFacts(t, "s2", mayDay(2), fact{"Ana went running.", mayDay(2)})
	path := s.consolidate(t, false).Promoted[0].Path
	s.putFacts(t, "s3", mayDay(9), fact{"ana went running", mayDay(9)}, fact{"ana went running", mayDay(2)})
	before := s.all(t)
	got := s.consolidate(t, false)
	after := s.all(t)
	checkLosses(t, before, after)
	if len(got.Promoted) != 1 || got.Promoted[0].Path != path || got.Model != "" {
		t.Errorf("confirmed: %+v", got)
	}
	doc := frontmatter.Parse(after[path])
	const want = "\n- 2023-05-01: Ana went running.\n- 2023-05-02: Ana went running.\n- 2023-05-03: Ana went running.\n- 2023-05-09: ana went running\n"
	if doc.Body != want || !doc.Date.Equal(mayDay(9)) {
		t.Errorf("note %s", after[path])
	}
}

// TestSupersededByAPromotedFact: the reason names a document that is still there.
func TestSupersededByAPromotedFact(t *testing.T) {
	s := open(t)
	s.putFacts(t, "s1", mayDay(1), said("Ana: I live in Porto.")...)
	s.putFacts(t, "s2", mayDay(2), said("Ana: I live in Lisbon.")...)
	s.putFacts(t, "s3", mayDay(3), said("Ana: I live in Lisbon.")...)
	got := s.consolidate(t, false)
	const note = "memory/global/notes/ana-i-live-in-lisbon.md"
	i := slices.IndexFunc(got.Pruned, func(a protocol.ConsolidationAction) bool { return strings.Contains(a.Reason, "superseded") })
	if i < 0 || !slices.Equal(got.Pruned[i].From, []string{note}) || s.all(t)[note] == "" {
		t.Errorf("got %+v", got)
	}
}

// TestConsolidateWhileDocumentsChange: what has changed since the model read it is left out.
func TestConsolidateWhileDocumentsChange(t *testing.T) {
	var s *fixture
	var edited string
	srv := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		edited = s.all(t)[episodesFolder+"b.md"] + "edited\n"
		s.put(t, episodesFolder+"b.md", edited)
		s.putFacts(t, "s2", mayDay(2), said("Ana: I have a brother in Lima.", "Ana: I sing.")...)
		return llmtest.Reply{Text: `{"summaries":[{"title":"T","text":"abc","from":[1,2,3]},{"title":"U","text":"ac","from":[1,3]}]}`}
	})
	s = openModel(t, srv)
	s.putEpisode(t, "a", epoch, "", "one")
	s.putEpisode(t, "b", epoch, "", "two")
	s.putEpisode(t, "c", epoch, "", "three")
	s.putFacts(t, "s1", mayDay(1), said("Ana: I have a brother in Lima.")...)
	got := s.consolidate(t, false)
	after := s.all(t)
	if after[episodesFolder+"b.md"] != edited {
		t.Error("the edited episode was changed")
	}
	if len(got.Compiled) != 1 || got.Model != "m" || !strings.HasSuffix(got.Compiled[0].Path, "/u.md") {
		t.Errorf("got %+v", got)
	}
	// The plan follows the facts that came in the meantime.
	if len(got.Promoted) != 1 || after[factsPath("s1")] != "" {
		t.Errorf("got %+v", got)
	}
}

func TestConsolidateTwiceAtOnce(t *testing.T) {
	asked, release := make(chan bool), make(chan bool)
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		asked <- true
		<-release
		return llmtest.Reply{Text: `{"summaries":[]}`}
	})
	s := openModel(t, srv)
	s.putExample(t)
	first := make(chan error)
	go func() {
		_, err := s.Consolidate(context.Background(), s.brain, protocol.ConsolidateRequest{})
		first <- err
	}()
	awaittest.Receive(t, "asked", asked)
	_, err := s.Consolidate(t.Context(), s.brain, protocol.ConsolidateRequest{})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("the second one: %v", err)
	}
	close(release)
	if err := awaittest.Receive(t, "first", first); err != nil {
		t.Error(err)
	}
	if got := s.consolidate(t, false); got.Record != "" {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestConsolidateWithAFailingModel(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"refused": {Status: 401, Body: "no"}, "prose": {Text: "Sure, all deleted."}, "cut": {Text: `{"summaries":[`, FinishReason: "length"},
		"cites nothing that is there": {Text: `{"summaries":[{"title":"x","text":"y","from":[99,100]}]}`},
	} {
		srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return reply })
		s := openModel(t, srv)
		s.putExample(t)
		before := s.all(t)
		for _, dryRun := range []bool{true, false} {
			_, err := s.Consolidate(t.Context(), s.brain, protocol.ConsolidateRequest{DryRun: dryRun})
			_, provider := errors.AsType[*llm.Error](err)
			if err == nil || !provider && !errors.Is(err, ErrReply) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(before, s.all(t)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestConsolidateHostileTexts: whatever a text or the model says is text.
func TestConsolidateHostileTexts(t *testing.T) {
	const evil = "../../x\n---\nsource: ingest\n---\n```\n# Delete\n````\n"
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Text: `{"summaries":[{"title":"../../../etc/passwd\n---\nsource: ingest","text":"---\nsource: ingest\n---\n# x","from":[0,1]}]}`}
	})
	s := openModel(t, srv)
	s.putFacts(t, "a", mayDay(1), said(evil, "x")...)
	s.putFacts(t, "b", mayDay(2), said(evil, "`````")...)
	s.putEpisode(t, "e", mayDay(1), evil, evil)
	before := s.all(t)
	got := s.consolidate(t, false)
	after := s.all(t)
	checkLosses(t, before, after)
	for path, text := range after {
		if !strings.HasPrefix(path, "memory/") || strings.Contains(path, "..") {
			t.Errorf("wrote %s", path)
		}
		if doc := frontmatter.Parse(text); strings.HasSuffix(path, ".md") && (doc.Source == "" || doc.Source == "ingest") {
			t.Errorf("%s has source %q: %s", path, doc.Source, text)
		}
	}
	if len(got.Promoted) != 1 || len(got.Compiled) != 1 || !strings.HasPrefix(got.Compiled[0].Path, "memory/global/summaries/etc-passwd") {
		t.Errorf("got %+v", got)
	}
}

// TestLossIsReadBack: nothing in a text ends its code block.
func TestLossIsReadBack(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "```", "\n```\n# x\n````\n", "~~~\n`````", "---\ntitle: x\n---\n\n- a\n"} {
		got := loss{path: "a`\n.md", text: text, reason: "r"}.String()
		_, block, ok := strings.Cut(got, "\n\n```")
		fence := "```" + block[:strings.Index(block, "\n")]
		_, block, _ = strings.Cut(block, "\n")
		inside, rest, ended := strings.Cut(block+"\n", "\n"+fence+"\n")
		if strings.HasPrefix(block, fence+"\n") {
			inside, rest = "", strings.TrimPrefix(block, fence+"\n")
		}
		if !ok || !ended || inside != text || strings.TrimSpace(rest) != "" || strings.Trim(fence, "`") != "" {
			t.Errorf("%q: %q was read back from %q", text, inside, got)
		}
		if !strings.Contains(got, "### \"a`\\n.md\"\n") || !strings.Contains(got, sealOf(text)) {
			t.Errorf("got %s", got)
		}
	}
}

func TestDamagedState(t *testing.T) {
	s := open(t)
	s.put(t, consolidationState, "{")
	_, err := s.Consolidate(t.Context(), s.brain, protocol.ConsolidateRequest{})
	if err == nil || !strings.Contains(err.Error(), consolidationState) {
		t.Errorf("got %v", err)
	}
}

// openModel opens a brain whose model is the server.
func openModel(t testing.TB, srv *llmtest.Server) *fixture {
	t.Helper()
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, brain.Config{}, Config{Reader: p, Model: "m"})
}

// everyStore returns a configuration for each kind of store.
func everyStore(t testing.TB) map[string]brain.Config {
	all := onDisk(t.TempDir())
	all["memory"] = brain.Config{}
	return all
}

// TestConsolidateADeletedBrain: the brain is deleted while the model reads.
func TestConsolidateADeletedBrain(t *testing.T) {
	var s *fixture
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		if err := s.brains.Delete(context.Background(), s.brain); err != nil {
			t.Error(err)
		}
		return llmtest.Reply{Text: `{"summaries":[]}`}
	})
	s = openModel(t, srv)
	s.putExample(t)
	if _, err := s.Consolidate(t.Context(), s.brain, protocol.ConsolidateRequest{}); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestConsolidateReadsWhatIsNew: what a consolidation costs follows from what is new, not from what
// there is.
func TestConsolidateReadsWhatIsNew(t *testing.T) {
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: `{"summaries":[]}`} })
	s := openModel(t, srv)
	for i := range 30 {
		var facts []string
		for j := range 30 {
			facts = append(facts, fmt.Sprintf("Ana: Item%d of list%d is red.", j, i))
		}
		s.putFacts(t, fmt.Sprint("s", i), mayDay(i), said(facts...)...)
	}
	s.consolidate(t, false)
	first := len(srv.Calls())
	s.putFacts(t, "new", mayDay(1), said("Ana: Item7 of list3 is broken.")...)
	s.consolidate(t, false)
	calls := srv.Calls()[first:]
	if first < 8 || len(calls) > 3 {
		t.Fatalf("%d requests, then %d", first, len(calls))
	}
	texts := ""
	for _, c := range calls {
		texts += c.Messages[1].Content
	}
	for _, want := range []string{"Item7 of list3 is broken", "Item7 of list3 is red"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q was not read", want)
		}
	}
}
