package conformance

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// isConcrete wants a mode that can run; auto is only ever asked for.
func isConcrete(got any) error {
	if s, _ := got.(string); !slices.Contains(protocol.EffectiveModes, s) {
		return fmt.Errorf("want one of %s, got %s", strings.Join(protocol.EffectiveModes, ", "), clip(encode(got)))
	}
	return nil
}

func modeChecks() []check {
	in := func(mode any) request { return searchOf(object{"query": "kettle", "mode": mode}) }
	checks := []check{
		should("search-mode", "4.4", "A search says the mode that was asked for.", notes, answers(in(protocol.ModeBM25), 200, key("mode", is(protocol.ModeBM25)))),
		should("search-mode-default", "4.4", "A search that asks for no mode says auto.",
			notes, answers(searchOf(object{"query": "kettle"}), 200, key("mode", is(protocol.ModeAuto)))),
		should("search-effective-mode", "4.4", "A search says the mode that ran.", notes, answers(in(protocol.ModeAuto), 200, key("effective_mode", isText))),
		should("search-effective-mode-concrete", "4.4", "The mode that ran is never auto.", notes, answers(in(protocol.ModeAuto), 200, key("effective_mode", isConcrete))),
		should("search-effective-mode-bm25", "4.4", "A search in the mode bm25 runs in it.",
			notes, answers(in(protocol.ModeBM25), 200, key("effective_mode", is(protocol.ModeBM25)))),
		should("search-mode-unknown-400", "4.4", "A search in an unknown mode is 400.", answers(in("psychic"), 400)),
		should("search-mode-number-400", "4.4", "A search whose mode is no string is 400.", answers(in(1), 400)),
		should("search-components", "2", "component_scores of a chunk are numbers.", notes, answers(in(protocol.ModeBM25), 200, eachChunk(components))),
		should("search-explanation", "4.4", "With explain a search has an explanation, an object.",
			notes, answers(searchOf(object{"query": "kettle", "explain": true}), 200, key("explanation", isObject))),
		should("search-explanation-not-asked", "4.4", "Without explain a search has no explanation.",
			notes, answers(searchOf(object{"query": "kettle"}), 200, lacksKey("explanation"))),
	}
	for _, mode := range []string{protocol.ModeAuto, protocol.ModeBM25} {
		checks = append(checks, should("search-mode-"+mode+"-200", "4.4", "A search in the mode "+mode+" is served.", answers(in(mode), 200)))
	}
	for _, mode := range protocol.EffectiveModes {
		if mode == protocol.ModeBM25 { // every daemon has it
			continue
		}
		checks = append(checks, should("search-mode-"+mode+"-honest", "4.4",
			"A search in the mode "+mode+" is refused, or says the mode that ran, and why if it was another.", notes, answers(in(mode), 0, honest(mode))))
	}
	return checks
}

// honest wants no mode to stand in for another in silence.
func honest(asked string) want {
	return func(r *response) error {
		if r.status >= 400 {
			return nil
		}
		if err := r.judge(200, []want{key("mode", is(asked)), key("effective_mode", isConcrete)}); err != nil {
			return err
		}
		return key("effective_mode", func(got any) error {
			if got != asked {
				return key("degraded", isText)(r)
			}
			return eachChunk(func(c object) error {
				scores, _ := c["component_scores"].(object)
				if scores["bm25"] != nil && scores["vector"] == nil && scores["fusion"] == nil && scores["rerank"] == nil {
					return fmt.Errorf("want component_scores of the mode %s, got %s", asked, clip(encode(scores)))
				}
				return nil
			})(r)
		})(r)
	}
}

func components(c object) error {
	scores, ok := c["component_scores"]
	if !ok {
		return notJudged{"chunks have no component_scores"}
	}
	parts, ok := scores.(object)
	if !ok || len(parts) == 0 {
		return fmt.Errorf("component_scores: want an object with keys, got %s", clip(encode(scores)))
	}
	for name, v := range parts {
		if err := isNumber(v); err != nil {
			return fmt.Errorf("component_scores: %s: %w", name, err)
		}
	}
	return nil
}

// eachChunk judges every chunk of a search that finds some.
func eachChunk(judge func(object) error) want {
	return func(r *response) error {
		chunks, err := r.chunks()
		if err == nil && len(chunks) == 0 {
			err = fmt.Errorf("want a chunk, got %s", clip(r.body))
		}
		for _, c := range chunks {
			if err == nil {
				err = judge(c)
			}
		}
		return err
	}
}

// highlightChecks are about a text whose characters take one to four bytes,
// with markup in it.
func highlightChecks() []check {
	const text = "🦜🦜 Pépé ça & <em>walrus</em> <script>alert(1)</script> naïve walrus."
	zoo := seeds + "zoo.md"
	marked := func(judge func(text []rune, start, end int) error) []step {
		return []step{put(zoo, text), finds("walrus", zoo, true), answers(searchOf(object{"query": "walrus"}), 200, eachChunk(func(c object) error {
			spans, _ := c["highlights"].([]any)
			if len(spans) == 0 {
				return notJudged{"the chunk has no highlights"}
			}
			body, _ := c["text"].(string)
			for _, item := range spans {
				start, end, err := offsets(item)
				if err == nil {
					err = judge([]rune(body), start, end)
				}
				if err != nil {
					return fmt.Errorf("highlights: %w", err)
				}
			}
			return nil
		}))}
	}
	within := func(text []rune, start, end int) error {
		if end > len(text) {
			return fmt.Errorf("want spans of the %d characters of the text, got the end %d", len(text), end)
		}
		return nil
	}
	return []check{
		should("search-highlights", "2", "A chunk has highlights where it holds a word of the query.",
			notes, answers(searchOf(object{"query": "kettle"}), 200, eachChunk(func(c object) error { return judgeKey(c, "highlights", isFilled) }))),
		should("search-highlights-in-text", "2", "Highlights are spans of the text, none of them empty.", marked(within)...),
		should("search-highlights-code-points", "2", "Highlights count code points: cut out of the text they are the word.",
			marked(func(text []rune, start, end int) error {
				if err := within(text, start, end); err != nil {
					return err
				}
				if got := string(text[start:end]); got != "walrus" {
					return fmt.Errorf("want walrus at %d to %d, got %q", start, end, got)
				}
				return nil
			})...),
		should("search-text-verbatim", "2", "The text of a chunk is as the document has it: nothing is marked up in it, or escaped.",
			put(zoo, text), finds("walrus", zoo, true), answers(searchOf(object{"query": "walrus"}), 200, eachChunk(func(c object) error {
				if got, _ := c["text"].(string); strings.TrimSpace(got) != text {
					return fmt.Errorf("want the text %q, got %q", text, got)
				}
				return nil
			}))),
	}
}

// offsets gives the span of a highlight.
func offsets(item any) (start, end int, err error) {
	o, _ := item.(object)
	a, okA := o["start"].(float64)
	b, okB := o["end"].(float64)
	if !okA || !okB || a < 0 || b <= a || a != float64(int(a)) || b != float64(int(b)) {
		return 0, 0, fmt.Errorf("want whole numbers with 0 <= start < end, got %s", clip(encode(item)))
	}
	return int(a), int(b), nil
}

// isFilled wants an array that is not empty.
func isFilled(got any) error {
	if list, ok := got.([]any); !ok || len(list) == 0 {
		return fmt.Errorf("want an array with something in it, got %s", clip(encode(got)))
	}
	return nil
}

// lacksKey wants the body to be a JSON object without a key.
func lacksKey(name string) want {
	return func(r *response) error {
		o, err := r.object()
		if err == nil && o[name] != nil {
			err = fmt.Errorf("want no key %q, got %s", name, clip(encode(o[name])))
		}
		return err
	}
}
