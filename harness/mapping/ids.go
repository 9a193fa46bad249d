package mapping

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// idSource is a place in the replies to writes that may contain the ids of the written texts.
type idSource struct {
	reply  map[string]any // as a mapping has it
	values []any          // of each sample
	rank   int            // the lower, the more it is called like an id
}

// idSources returns the places where the replies to writes of samples have distinct values, places
// named like an id first.
func idSources(replies []callReply, samples []*sample) (all []idSource) {
	values := make([]any, len(replies))
	for i, a := range replies {
		v, err := a.value("")
		if err != nil {
			return textSources(replies, samples)
		}
		values[i] = v
	}
	eachLeaf(values[0], nil, func(steps []any, _ string) {
		source := idSource{rank: len(idArguments)}
		for _, v := range values {
			source.values = append(source.values, idAt(v, steps))
		}
		for i := len(steps) - 1; i >= 0; i-- {
			if key, ok := steps[i].(string); ok {
				if at := slices.Index(idArguments, folded(key)); at >= 0 {
					source.rank = at
				}
				break
			}
		}
		if !distinguishes(textsOfAll(source.values), samples) || source.rank == len(idArguments) && !looksLikeID(textOf(source.values[0])) {
			return
		}
		source.reply = map[string]any{"id": pathText(anyIndex(steps))}
		all = append(all, source)
	})
	slices.SortStableFunc(all, func(a, b idSource) int { return a.rank - b.rank })
	return all[:min(len(all), 4)]
}

// idAt returns an id of a reply as it is sent.
func idAt(v any, steps []any) any {
	var f foundItem
	f.setID(valueAt(v, steps))
	return f.sentID()
}

// textsOfAll returns JSON values as texts.
func textsOfAll(values []any) (texts []string) {
	for _, v := range values {
		texts = append(texts, textOf(v))
	}
	return texts
}

// eachLeaf calls do for each string and number in a value.
func eachLeaf(v any, steps []any, do func(steps []any, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			eachLeaf(one, append(slices.Clone(steps), key), do)
		}
	case []any:
		for i, one := range v {
			eachLeaf(one, append(slices.Clone(steps), i), do)
		}
	case nil, bool:
	default:
		do(steps, textOf(v))
	}
}

// distinguishes reports whether values can be the ids of samples: all differ, and none is a time or
// a sent text.
func distinguishes(values []string, samples []*sample) bool {
	for i, v := range values {
		_, date := parseDate(v)
		switch {
		case v == "" || len(v) > 300 || date || slices.Contains(values[:i], v):
			return false
		case v == samples[i].title || strings.Contains(v, samples[i].beginning()):
			return false
		}
	}
	return true
}

// idForm matches only texts that are clearly ids.
var idForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-f]{12,}|[A-Za-z]+[-_][0-9A-Za-z_-]{6,})$`)
})

func looksLikeID(text string) bool { return idForm().MatchString(text) }

// wordForm matches a word of a text that could be an id.
var wordForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[^\\s()\\[\\]{}\"',;`]+")
})

// textSources returns the positions of the words in which text replies differ.
func textSources(replies []callReply, samples []*sample) (all []idSource) {
	first := replies[0].text()
	words := make([][]string, len(replies))
	for i, a := range replies {
		words[i] = wordForm().FindAllString(a.text(), -1)
		if len(words[i]) != len(words[0]) {
			return nil
		}
	}
	for n, at := range wordForm().FindAllStringIndex(first, -1) {
		var source idSource
		for _, w := range words {
			source.values = append(source.values, strings.TrimRight(w[n], "."))
		}
		if !distinguishes(textsOfAll(source.values), samples) {
			continue
		}
		before := first[strings.LastIndex(first[:at[0]], "\n")+1 : at[0]]
		for _, other := range samples {
			if strings.Contains(before, other.mark) {
				before = ""
			}
		}
		if strings.TrimSpace(before) == "" {
			continue
		}
		source.reply = map[string]any{"format": "text", "pattern": regexp.QuoteMeta(before) + "(?P<id>[^\\s()\\[\\]{}\"',;`]+)"}
		if !looksLikeID(textOf(source.values[0])) {
			source.rank = 1
		}
		all = append(all, source)
	}
	slices.SortStableFunc(all, func(a, b idSource) int { return a.rank - b.rank })
	return all[:min(len(all), 4)]
}
