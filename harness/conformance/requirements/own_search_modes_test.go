package requirements

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

func ownSearchModeChecks() []check {
	in := func(mode any) request { return searchOf(object{"query": "kettle", "mode": mode}) }
	explained := searchOf(object{"query": "kettle", "explain": true})
	checks := []check{
		should("search-mode", "4.4", "A search returns the requested mode in mode.",
			putNotes, inspect(in(protocol.ModeBM25), 200, jsonField("mode", equals(protocol.ModeBM25)))),
		should("search-mode-default", "4.4", "The mode of a search that requests no mode is auto.",
			putNotes, inspect(plainSearch, 200, jsonField("mode", equals(protocol.ModeAuto)))),
		should("search-effective-mode", "4.4", "A search returns the mode that ran in effective_mode.",
			putNotes, inspect(in(protocol.ModeAuto), 200, jsonField("effective_mode", isNonEmptyString))),
		should("search-effective-mode-concrete", "4.4", "The effective_mode of a search is never auto.",
			putNotes, inspect(in(protocol.ModeAuto), 200, jsonField("effective_mode", isConcreteMode))),
		should("search-effective-mode-bm25", "4.4", "The effective_mode of a search in the mode bm25 is bm25.",
			putNotes, inspect(in(protocol.ModeBM25), 200, jsonField("effective_mode", equals(protocol.ModeBM25)))),
		should("search-mode-unknown-400", "4.4", "A search in an unknown mode is rejected with 400.",
			expect(in("psychic"), 400)),
		should("search-mode-number-400", "4.4", "A search whose mode is not a string is rejected with 400.",
			expect(in(1), 400)),
		should("search-components", "2", "The component_scores of a chunk are numbers.",
			putNotes, inspect(in(protocol.ModeBM25), 200, eachChunk(hasComponentScores))),
		should("search-explanation", "4.4", "With explain, a search returns an explanation object.",
			putNotes, inspect(explained, 200, jsonField("explanation", isObject))),
		should("search-explanation-not-asked", "4.4", "Without explain, a search returns no explanation.",
			putNotes, inspect(plainSearch, 200, noField("explanation"))),
	}
	for _, mode := range protocol.EffectiveModes {
		if mode == protocol.ModeBM25 { // every daemon has it
			continue
		}
		checks = append(checks, should("search-mode-"+mode+"-honest", "4.4",
			"A search in the mode "+mode+" is rejected, or returns the mode that ran and, if it differs, the reason.",
			putNotes, expect(in(mode), 0, reportsMode(mode))))
	}
	return checks
}

// isConcreteMode accepts a mode that can run. auto can only be requested.
func isConcreteMode(got any) error {
	if s, _ := got.(string); !slices.Contains(protocol.EffectiveModes, s) {
		return fmt.Errorf("want one of %s, got %s", strings.Join(protocol.EffectiveModes, ", "), excerpt(encode(got)))
	}
	return nil
}

// reportsMode accepts an error, or a response that reports the mode that ran. If that is not the
// requested mode, the response must have a reason in degraded. If it is, its chunks must not have
// the component_scores of bm25 only.
func reportsMode(requested string) assertion {
	return func(r *response) error {
		if r.status >= 400 {
			return nil
		}
		err := r.verify(200, jsonField("mode", equals(requested)), jsonField("effective_mode", isConcreteMode))
		if err != nil {
			return err
		}
		return jsonField("effective_mode", func(got any) error {
			if got != requested {
				return jsonField("degraded", isNonEmptyString)(r)
			}
			return eachChunk(func(c object) error {
				scores, _ := c["component_scores"].(object)
				others := scores["vector"] != nil || scores["fusion"] != nil || scores["rerank"] != nil
				if scores["bm25"] != nil && !others {
					return fmt.Errorf("want component_scores of the mode %s, got %s",
						requested, excerpt(encode(scores)))
				}
				return nil
			})(r)
		})(r)
	}
}

func hasComponentScores(c object) error {
	scores, ok := c["component_scores"]
	if !ok {
		return optional("the chunks have no component_scores")
	}
	parts, ok := scores.(object)
	if !ok || len(parts) == 0 {
		return fmt.Errorf("component_scores: want a non-empty object, got %s", excerpt(encode(scores)))
	}
	for name, v := range parts {
		if err := isNumber(v); err != nil {
			return fmt.Errorf("component_scores: %s: %w", name, err)
		}
	}
	return nil
}
