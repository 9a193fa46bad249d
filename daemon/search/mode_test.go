package search

import (
	"slices"
	"testing"

	"evalctl/daemon/protocol"
)

// TestMethods checks the rules of the table: it has the modes of the protocol, and every mode can
// be replaced if a model fails.
func TestMethods(t *testing.T) {
	for _, name := range protocol.EffectiveModes {
		m := methods[Mode(name)]
		if string(m.mode) != name {
			t.Errorf("mode %s of the protocol is %q here", name, m.mode)
		}
		if !m.words && !m.vectors {
			t.Errorf("mode %s has no leg", m.mode)
		}
		lower := methods[m.lower]
		if m.reranks && (lower.words != m.words || lower.vectors != m.vectors || lower.reranks) {
			t.Errorf("mode %s: the lower mode %q does not rank by its legs alone", m.mode, m.lower)
		}
		seen := []Mode{m.mode}
		for lower := m; lower.vectors || lower.reranks; seen = append(seen, lower.mode) {
			if lower = methods[lower.lower]; lower.mode == "" || slices.Contains(seen, lower.mode) {
				t.Fatalf("mode %s: its lower modes are %v and then %q", m.mode, seen[1:], lower.mode)
			}
		}
		if without := m.withoutVectors(); m.vectors && without.reranks {
			t.Errorf("mode %s: %s replaces it without the embedder and reranks", m.mode, without.mode)
		}
	}
	if len(methods) != len(protocol.EffectiveModes) {
		t.Errorf("%d methods, %d modes in the protocol", len(methods), len(protocol.EffectiveModes))
	}
	if FusionScore != protocol.FusionScore || FusionRRF != protocol.FusionRRF {
		t.Errorf("the fusions are called %s and %s, in the protocol %s and %s",
			FusionScore, FusionRRF, protocol.FusionScore, protocol.FusionRRF)
	}
	last := methods[autoModes[len(autoModes)-1]]
	if last.mode == "" || last.vectors || last.reranks {
		t.Errorf("the last of autoModes is %q, which needs a model or is unknown", last.mode)
	}
}
