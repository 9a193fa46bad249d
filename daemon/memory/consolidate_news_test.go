package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

// TestConsolidateWithoutNews: after a consolidation the next one is known to do nothing, until
// something that it reads has changed.
func TestConsolidateWithoutNews(t *testing.T) {
	for kind, cfg := range everyStore(t) {
		t.Run(kind, func(t *testing.T) {
			s := openWith(t, cfg, Config{})
			known := func() bool {
				t.Helper()
				state, err := s.stateOf(t.Context(), s.brain, s.store(t))
				if err != nil {
					t.Fatal(err)
				}
				return s.isSettled(s.brain, state)
			}
			s.putExample(t)
			if first := s.consolidate(t, false); first.Model == "" || first.Record == "" || !known() {
				t.Fatalf("the first: %+v, known %t", first, known())
			}
			want := protocol.Consolidation{
				Compiled: []protocol.ConsolidationAction{}, Promoted: []protocol.ConsolidationAction{}, Pruned: []protocol.ConsolidationAction{},
			}
			for _, dryRun := range []bool{false, true} {
				want.DryRun = dryRun
				if diff := cmp.Diff(want, s.consolidate(t, dryRun)); diff != "" || !known() {
					t.Error(diff)
				}
			}
			s.putFacts(t, "s4", mayDay(21), said("Ana: I have a brother in Rome.", "Ana: The boat Clara is sold.")...)
			if known() {
				t.Error("a new fact is no news")
			}
			s.putFacts(t, "s5", mayDay(22), said("Ana: I have a brother in Rome.")...)
			if news := s.consolidate(t, false); len(news.Promoted) != 1 || news.Model == "" {
				t.Errorf("of news: %+v", news)
			}
		})
	}
}
