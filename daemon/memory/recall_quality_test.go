package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/longtest"
	"evalctl/internal/sharedtest"
)

// TestRecallQuality asks questions that say what they are about while the conversation is about
// something else: six messages from another place of the same corpus, which is the most misleading
// conversation. It must cost at most one point of recall@10.
func TestRecallQuality(t *testing.T) {
	longtest.Skip(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	type doc struct{ Path, Title, Text, Date string }
	type question struct {
		Question string
		Expected []string `json:"expected_paths"`
	}
	docs := map[string][]doc{}
	of := func(path string) string { return strings.Split(path, "/")[1] }
	for _, d := range sharedtest.Lines[doc](t, sharedtest.Path(t, "neutral/locomo-turn/corpus.jsonl")) {
		docs[of(d.Path)] = append(docs[of(d.Path)], d)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var plain, weighed float64
	asked := 0
	brains := map[string]*fixture{}
	for i, q := range sharedtest.Lines[question](t, sharedtest.Path(t, "neutral/locomo-turn/questions.jsonl")) {
		if len(q.Expected) == 0 || i%2 != 0 {
			continue
		}
		name := of(q.Expected[0])
		s := brains[name]
		if s == nil {
			s = openWith(t, brain.Config{}, Config{})
			brains[name] = s
			err := s.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
				for _, d := range docs[name] {
					text := fmt.Sprintf("---\ndate: %s\n---\n\n# %s\n\n%s\n", d.Date, d.Title, d.Text)
					if err := b.Write(t.Context(), d.Path, []byte(text)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		session := fmt.Sprint("q", i)
		at := random.IntN(len(docs[name]) - contextMessages)
		for _, d := range docs[name][at : at+contextMessages] {
			s.say(t, session, user(d.Text))
		}
		search := func(session string) float64 {
			found := 0.
			var seen []string
			// The transcripts of the sessions so far are no part of the corpus.
			res, err := s.Recall(t.Context(), s.brain, session, protocol.RecallRequest{Query: q.Question, TopK: 50})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range res.Chunks {
				if strings.HasPrefix(c.Path, sessionsDir) || slices.Contains(seen, c.Path) {
					continue
				}
				if seen = append(seen, c.Path); len(seen) <= 10 && slices.Contains(q.Expected, c.Path) {
					found++
				}
			}
			return found / float64(len(q.Expected))
		}
		plain += search("unknown")
		weighed += search(session)
		asked++
	}
	plain, weighed = plain/float64(asked), weighed/float64(asked)
	t.Logf("%d questions: recall@10 %.4f without and %.4f with an unrelated conversation", asked, plain, weighed)
	if weighed < plain-.01 {
		t.Errorf("the conversation costs %.4f of recall@10", plain-weighed)
	}
}
