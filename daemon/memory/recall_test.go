package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

func (f *fixture) recall(t testing.TB, session string, r protocol.RecallRequest) []string {
	t.Helper()
	res, err := f.Recall(t.Context(), f.brain, session, r)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i, c := range res.Chunks {
		paths = append(paths, c.Path)
		if i > 0 && c.Score > res.Chunks[i-1].Score || c.BrainID != "eval" || c.Text == "" {
			t.Errorf("chunk %d: %+v", i, c)
		}
	}
	return paths
}

// purchases are about equally good for a question about a price that does not name what was bought.
func purchases(t testing.TB, s *fixture) {
	for _, thing := range []string{"kettle", "bicycle", "umbrella", "lamp", "carpet"} {
		s.put(t, "bought/"+thing+".md", fmt.Sprintf("# The %s\n\nThe %s in the shop cost some euros.\n", thing, thing))
	}
	for i, town := range strings.Fields("Oslo Lima Rome Bern Porto Turin Graz Brno Lyon Ghent Leeds Cork Bath Nice Metz Kiel Bonn Linz Pisa Bari") {
		s.put(t, fmt.Sprintf("towns/%d.md", i), fmt.Sprintf("# %s\n\nWe walked through %s and along the river.\n", town, town))
	}
	// This one is the best for such a question, but not by far.
	s.put(t, "bought/watch.md", "# The watch\n\nThe watch: cost in the shop, cost in euros.\n")
}

func embedded() brain.Config {
	return brain.Config{IndexConfig: brain.IndexConfig{Search: search.Config{Embedder: llm.NewFakeEmbedder()}}}
}

// TestRecallWeighsTheConversation: an ambiguous query finds what the conversation is about, and
// one that says what it means finds that, whatever the conversation is about.
func TestRecallWeighsTheConversation(t *testing.T) {
	for mode, cfg := range map[string]brain.Config{"words": {}, "hybrid": embedded()} {
		t.Run(mode, func(t *testing.T) {
			s := openWith(t, cfg, Config{})
			purchases(t, s)
			const vague = "how much did it cost"
			plain := s.recall(t, "unknown", protocol.RecallRequest{Query: vague})
			if plain[0] != "bought/watch.md" {
				t.Fatalf("without a conversation: %v", plain)
			}
			for _, thing := range []string{"umbrella", "lamp"} {
				s.say(t, thing, user("Do you remember my "+thing+"?"), user("Yes, what about it?"))
				if got := s.recall(t, thing, protocol.RecallRequest{Query: vague}); got[0] != "bought/"+thing+".md" {
					t.Errorf("talking about the %s: %v", thing, got)
				}
				for _, named := range []string{"kettle", "carpet"} {
					if got := s.recall(t, thing, protocol.RecallRequest{Query: "how much did the " + named + " cost"}); got[0] != "bought/"+named+".md" {
						t.Errorf("talking about the %s, asking about the %s: %v", thing, named, got)
					}
				}
				// Nothing in the query can be looked up.
				if got := s.recall(t, thing, protocol.RecallRequest{Query: "what about it?"}); !slices.Contains(got, "bought/"+thing+".md") {
					t.Errorf("a query without words, talking about the %s: %v", thing, got)
				}
			}
		})
	}
}

// gone is an embedder that fails.
type gone struct{ llm.Embedder }

func (gone) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("the embedder is gone")
}

// TestRecallSaysWhatRan: a recall reports the mode and why it is a lower one, with a conversation
// and without.
func TestRecallSaysWhatRan(t *testing.T) {
	cfg := search.Config{Embedder: gone{llm.NewFakeEmbedder()}, Degrade: true}
	s := openWith(t, brain.Config{IndexConfig: brain.IndexConfig{Search: cfg}}, Config{})
	purchases(t, s)
	s.say(t, "said", user("Do you remember my lamp?"))
	for _, session := range []string{"unknown", "said"} {
		r, err := s.Recall(t.Context(), s.brain, session, protocol.RecallRequest{Query: "how much did it cost"})
		if err != nil || r.EffectiveMode != "bm25" || !strings.Contains(r.Degraded, "the embedder is gone") {
			t.Errorf("%s: ran in %q because of %q, %v", session, r.EffectiveMode, r.Degraded, err)
		}
	}
}

func TestRecallOfAnUnknownSessionIsASearch(t *testing.T) {
	s := open(t)
	purchases(t, s)
	found, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{Query: "lamp cost"})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range found.Chunks {
		want = append(want, c.Path)
	}
	if got := s.recall(t, "s", protocol.RecallRequest{Query: "lamp cost"}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.recall(t, "s", protocol.RecallRequest{Query: "lamp cost", TopK: 1}); len(got) != 1 {
		t.Errorf("top_k 1: %v", got)
	}
	if _, err := s.Session(t.Context(), s.brain, "s"); err == nil {
		t.Error("a recall opened the session")
	}
}

// TestRecallFindsTheSession: what was said in the session itself is found at once, before facts are
// extracted, and so are its facts and other sessions. The words of the conversation find other
// documents only, because its own messages would be the best hits.
func TestRecallFindsTheSession(t *testing.T) {
	s := open(t)
	at := func(day int, text string) protocol.SessionMessage {
		return protocol.SessionMessage{Role: "user", Content: text, Metadata: map[string]any{"skip_extract": true}, CreatedAt: fmt.Sprintf("2024-03-%02dT10:00:00Z", day)}
	}
	s.say(t, "other", at(1, "The kettle is green."))
	s.say(t, "mine", at(1, "The kettle was blue."), at(2, "The kettle will be red."))
	mine := []string{transcriptPath("mine", 1), transcriptPath("mine", 2), transcriptPath("other", 1)}
	if got := sorted(s.recall(t, "mine", protocol.RecallRequest{Query: "kettle"})); !slices.Equal(got, mine) {
		t.Errorf("before facts are extracted: %v", got)
	}
	s.put(t, factsPath("mine"), "- The kettle was blue.\n")
	s.put(t, factsPath("other"), "- The kettle is green.\n")
	facts := []string{factsPath("mine"), factsPath("other")}
	if got := sorted(s.recall(t, "mine", protocol.RecallRequest{Query: "kettle"})); !slices.Equal(got, slices.Concat(facts, mine)) {
		t.Errorf("short session: %v", got)
	}
	if got := sorted(s.recall(t, "mine", protocol.RecallRequest{Query: "kettle", Scope: protocol.ScopeAgent})); !slices.Equal(got, facts) {
		t.Errorf("scope agent: %v", got)
	}
	if got := sorted(s.recall(t, "mine", protocol.RecallRequest{Query: "what about it?"})); !slices.Equal(got, []string{factsPath("other"), transcriptPath("other", 1)}) {
		t.Errorf("a query without words: %v", got)
	}
	for day := range 3 {
		s.say(t, "mine", at(3+day, strings.Repeat("word ", 5000)))
	}
	if got := sorted(s.recall(t, "mine", protocol.RecallRequest{Query: "kettle"})); !slices.Equal(got, slices.Concat(facts, mine)) {
		t.Errorf("long session: %v", got)
	}
}

func TestRecallRejects(t *testing.T) {
	s := open(t)
	long := func(n int) string { return strings.Repeat("ä", n) }
	for name, tt := range map[string]struct {
		session, arg string
		r            protocol.RecallRequest
	}{
		"longest query": {"s", "", protocol.RecallRequest{Query: long(4096), TopK: 50}},
		"long query":    {"s", "query", protocol.RecallRequest{Query: long(4097)}},
		"no query":      {"s", "query", protocol.RecallRequest{}},
		"top_k 51":      {"s", "top_k", protocol.RecallRequest{Query: "x", TopK: 51}},
		"top_k -1":      {"s", "top_k", protocol.RecallRequest{Query: "x", TopK: -1}},
		"all":           {"s", "", protocol.RecallRequest{Query: "x", Scope: "all"}},
		"scope":         {"s", "scope", protocol.RecallRequest{Query: "x", Scope: "raw"}},
		"session":       {"", "session_id", protocol.RecallRequest{Query: "x"}},
	} {
		res, err := s.Recall(t.Context(), s.brain, tt.session, tt.r)
		if tt.arg != "" && !isArgument(err, tt.arg) || tt.arg == "" && (err != nil || res.Chunks == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContextText: the latest messages of people come first, and are bounded.
func TestContextText(t *testing.T) {
	say := func(role, text string) message { return message{Role: role, Content: text} }
	for name, tt := range map[string]struct {
		latest []message
		want   string
	}{
		"none":       {nil, ""},
		"latest":     {[]message{say("assistant", "c"), say("user", "b\nb")}, "c b b"},
		"not people": {[]message{say("tool", "t"), say("system", "s"), say("user", "a")}, "a"},
		"6 messages": {[]message{say("user", "1"), say("user", "2"), say("user", "3"), say("user", "4"), say("user", "5"), say("user", "6"), say("user", "7")}, "1 2 3 4 5 6"},
		"200 words":  {[]message{say("user", strings.Repeat("x ", 300)), say("user", "y")}, strings.TrimSpace(strings.Repeat("x ", 200))},
	} {
		if got := contextText(tt.latest); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFuseRecall(t *testing.T) {
	hit := func(id string, words float64) search.Hit {
		return search.Hit{ChunkID: id, Path: id, Text: "text of " + id, Components: map[string]float64{"bm25": words}}
	}
	// The second hit was found by its vector.
	query := []search.Hit{hit("a", 8), hit("b", 0), hit("c", 4)}
	conversation := []search.Hit{hit("d", 3), hit("c", 3), hit("a", 1.5)}
	got := map[string]float64{}
	var order []string
	for _, h := range fuseRecall(query, conversation, .2) {
		got[h.Path] = h.Score
		order = append(order, h.Path)
	}
	want := map[string]float64{"a": 1.1, "b": .5, "c": .7, "d": .2}
	for path, score := range want {
		if math.Abs(got[path]-score) > 1e-9 {
			t.Errorf("%s has %v, want %v", path, got[path], score)
		}
	}
	if !slices.Equal(order, []string{"a", "c", "b", "d"}) {
		t.Error(order)
	}
}

// TestFuseRecallKeepsTheOrder: hits that only the vectors found stay where the query ranks them.
func TestFuseRecallKeepsTheOrder(t *testing.T) {
	hit := func(id string, score, words float64) search.Hit {
		h := search.Hit{Path: id, Text: "text of " + id, Score: score, Components: map[string]float64{"vector": score}}
		if words > 0 {
			h.Components["bm25"] = words
		}
		return h
	}
	unrelated := hit("0", 3, 3)
	for name, tt := range map[string]struct {
		query []search.Hit
		want  []string
	}{
		"no words":     {[]search.Hit{hit("z", .3, 0), hit("m", .2, 0), hit("a", -.1, 0)}, []string{"z", "m", "0", "a"}},
		"before words": {[]search.Hit{hit("z", 1.2, 0), hit("a", 1, 5)}, []string{"z", "a", "0"}},
		"after words":  {[]search.Hit{hit("x", 1.2, 5), hit("z", .8, 0), hit("m", .7, 0), hit("a", -.1, 0)}, []string{"x", "z", "m", "0", "a"}},
		"equal":        {[]search.Hit{hit("a", .3, 0), hit("b", .3, 0)}, []string{"a", "b", "0"}},
		"none":         {nil, []string{"0"}},
	} {
		hits := fuseRecall(tt.query, []search.Hit{unrelated}, .2)
		var got []string
		for i, h := range hits {
			got = append(got, h.Path)
			if i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.Path < hits[i-1].Path) {
				t.Errorf("%s: %s has the score %v after %s with %v", name, h.Path, h.Score, hits[i-1].Path, hits[i-1].Score)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestRecallHasDocumentsOnce: further passages of a document only take places that are left over.
func TestRecallHasDocumentsOnce(t *testing.T) {
	s := open(t)
	var long strings.Builder
	for i := range 30 {
		fmt.Fprintf(&long, "## Day %d\n\nThe kettle, the kettle: kettle number %d.\n\n", i, i)
	}
	s.put(t, "long.md", long.String())
	for i := range 10 {
		s.put(t, fmt.Sprintf("short/%d.md", i), fmt.Sprintf("In the year %d somebody found an old kettle in the cellar of the house.\n", 1900+i))
	}
	s.say(t, "mine", user("It was a rainy afternoon."))
	for topK, documents := range map[int]int{5: 5, 11: 11, 20: 11} {
		paths := s.recall(t, "mine", protocol.RecallRequest{Query: "kettle kettle number", TopK: topK})
		if got := len(slices.Compact(sorted(paths))); len(paths) != topK || got != documents {
			t.Errorf("top_k %d: %d passages of %d documents: %v", topK, len(paths), got, paths)
		}
	}
}

// TestRecallReadsOperators: what the conversation finds must meet the operators of the query, too.
func TestRecallReadsOperators(t *testing.T) {
	for mode, cfg := range map[string]brain.Config{"words": {}, "hybrid": embedded()} {
		t.Run(mode, func(t *testing.T) {
			s := openWith(t, cfg, Config{})
			purchases(t, s)
			s.say(t, "lamp", user("Do you remember my lamp, which I bought in a shop?"))
			for query, want := range map[string][]string{
				`"the carpet in"`:        {"bought/carpet.md"},
				`"kettle" OR "umbrella"`: {"bought/kettle.md", "bought/umbrella.md"},
			} {
				got := s.recall(t, "lamp", protocol.RecallRequest{Query: query})
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s recalls %q, want %q", query, got, want)
				}
			}
			if got := s.recall(t, "lamp", protocol.RecallRequest{Query: "cost -lamp"}); slices.Contains(got, "bought/lamp.md") {
				t.Errorf("what is excluded is recalled: %q", got)
			}
			if _, err := s.Recall(t.Context(), s.brain, "lamp", protocol.RecallRequest{Query: "-lamp"}); !isArgument(err, "query") {
				t.Errorf("a query that only excludes: %v", err)
			}
		})
	}
}
