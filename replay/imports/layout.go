package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"

	"github.com/theory/jsonpath"
)

// Format is the name of a layout of stored answers.
type Format string

// The layouts that are recognised, and those of a mapping file.
const (
	LoCoMo      Format = "locomo"       // the reference outputs of LoCoMo
	LongMemEval Format = "longmemeval"  // hypotheses of LongMemEval, with or without an evaluation log
	Zep         Format = "zep"          // Zep's LoCoMo experiment: grades or responses
	Memobase    Format = "memobase"     // Memobase's LoCoMo evaluation, which is that of Mem0
	LoCoMoAudit Format = "locomo-audit" // the audit of LoCoMo: answers judged several times
	Queries     Format = "queries"      // answers to queries, with their gold answers and a judge's reason
	Lines       Format = "lines"        // JSON lines that evalctl compare reads
	ByType      Format = "by-type"      // answers in lists by the type of question: Backboard, DeltaMemory
	PerQuestion Format = "per-question" // ironmem's report
	JudgeResult Format = "judge-result" // openclaw's answers, each with the reply of a judge
	MemoryBench Format = "memorybench"  // reports of memorybench, with or without verdicts
	Letta       Format = "letta"        // results of letta-evals, and the suite that has their questions
	LangSmith   Format = "langsmith"    // experiments of LangSmith
	Promptfoo   Format = "promptfoo"    // results of promptfoo
	Inspect     Format = "inspect"      // logs of inspect_ai
	Mapped      Format = "mapping"
)

// The fields of an answer.
const (
	fieldID           = "id"
	fieldConversation = "conversation"
	fieldQuestion     = "question"
	fieldGold         = "gold"
	fieldAnswer       = "answer"
	fieldVerdict      = "verdict"
	fieldReason       = "reason"
	fieldType         = "type"
	fieldModel        = "model"
	fieldMS           = "latency_ms"
	fieldSeconds      = "latency_s"
	fieldInput        = "input_tokens"
	fieldOutput       = "output_tokens"
	fieldCost         = "cost_usd"
	fieldPosition     = "question_index"
	fieldCategory     = "category" // the number of LoCoMo's
	fieldRetrieved    = "retrieved"

	// These may also be of the conversation or of the file, as may model.
	fieldJudge     = "judge_model"
	fieldPrompt    = "judge_prompt"
	fieldBenchmark = "benchmark"
)

// fieldNames are in the order of messages.
var fieldNames = []string{
	fieldID, fieldConversation, fieldQuestion, fieldGold, fieldAnswer, fieldVerdict, fieldReason, fieldType,
	fieldModel, fieldMS, fieldSeconds, fieldInput, fieldOutput, fieldCost, fieldJudge, fieldPrompt, fieldBenchmark, fieldPosition, fieldCategory, fieldRetrieved,
}

// layout says where a file has answers, and where an answer has what.
type layout struct {
	name Format
	// title is what the layout is of, for people.
	title string
	// conversations are the parts of the file that have the answers of one conversation each, and
	// answers is relative to them. A conversation is called like the last key on the way to its part, or
	// to the answer if the part is the file, unless a field names it.
	conversations, answers string
	// fields are the paths of the fields in an answer, the first that is there counts.
	fields map[string][]string
	// needs are the keys by which a file is recognised, of which some answer has all. No answer has any
	// of lacks.
	needs, lacks []string
	// right and wrong are words of verdicts besides the usual ones.
	right, wrong []string
	// half are words for a verdict of 0.5, unjudged are words for none.
	half, unjudged []string
	// several is the path, in an answer, of an object whose keys are scorers, of which verdictOf is the
	// path of the verdict. It is empty if verdicts have one place.
	several, verdictOf string
	// systems is the path, in an answer, of the system that gave it, empty if a file has one system.
	// system is the one that is read, empty for all.
	systems, system string
	// votes is how several judgements make a verdict, empty if the totals of the file tell.
	votes result.VoteRule
	// judgeID and readerID are what a mapping says of the judge and of the reader.
	judgeID, readerID string
	// mappingSHA256 is that of the file, empty for a layout that is recognised.
	mappingSHA256 string
}

// predictionSuffix ends the key that has a system's answer in the outputs of LoCoMo. The keys with
// its scores begin like it.
const predictionSuffix = "_prediction"

// locomoLayout returns the layout of the outputs of LoCoMo for the answers of one system.
func locomoLayout(system string) layout {
	key := func(suffix string) string { return pathOf(system + suffix) }
	return layout{
		name: LoCoMo, title: "LoCoMo's reference outputs",
		conversations: "$..[?@.qa]", answers: "$.qa[*]",
		needs: []string{"question", system + predictionSuffix},
		fields: map[string][]string{
			fieldConversation: {"$.sample_id"}, fieldQuestion: {"$.question"},
			fieldGold: {"$.answer"}, fieldAnswer: {key(predictionSuffix)},
			fieldVerdict: {key("_llm_judge"), key("_f1")}, fieldRetrieved: {key(predictionSuffix+"_context") + "[*]"}, fieldCategory: {"$.category"},
		},
	}
}

// pathOf returns the JSON path of a key.
func pathOf(key string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key)
	return "$['" + escaped + "']"
}

// Formats returns the names of the layouts that are recognised.
func Formats() []string {
	names := []string{string(LoCoMo)}
	for _, l := range layouts {
		names = append(names, string(l.name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// layoutOf returns the layout that a file has: the one that is wanted, else the one that fits.
// system chooses the answers of a file that has those of several systems.
func layoutOf(c *content, wanted Format, system string) (layout, error) {
	var fits []layout
	if l, found, err := locomoOf(c, system); err != nil {
		return l, err
	} else if found {
		fits = append(fits, l)
	}
	for _, l := range layouts {
		if l.fits(c.value) {
			fits = append(fits, l)
		}
	}
	if wanted != "" {
		fits = slices.DeleteFunc(fits, func(l layout) bool { return l.name != wanted })
	}
	if len(fits) > 0 && fits[0].name == LoCoMo {
		return fits[0], nil
	}
	if len(fits) > 0 {
		return fits[0].choose(c, system)
	}
	what := "has no layout of answers that is known"
	if wanted != "" {
		what = fmt.Sprintf("is not of the format %s", wanted)
	}
	return layout{}, fmt.Errorf("%s %s; %s; describe it with --mapping FILE, or name one of the formats %s",
		c.path, what, looks(c.value), strings.Join(Formats(), ", "))
}

// looks describes a value for people who write a mapping.
func looks(v any) string {
	where, depth := "the file", 0
	for depth < 4 {
		depth++
		switch is := v.(type) {
		case []any:
			if len(is) == 0 {
				return where + " is an empty list"
			}
			where, v = "the first element of "+where, is[0]
			continue
		case map[string]any:
			keys := slices.Sorted(maps.Keys(is))
			for _, key := range keys {
				if list, ok := is[key].([]any); ok && len(list) > 0 {
					if first, ok := list[0].(map[string]any); ok {
						return fmt.Sprintf("%s has the keys %s, and under %.40q objects with the keys %s", where,
							some(keys), key, some(slices.Sorted(maps.Keys(first))))
					}
				}
			}
			return fmt.Sprintf("%s has the keys %s", where, some(keys))
		}
		break
	}
	return where + " is no object"
}

// some lists the first keys, shortened.
func some(keys []string) string {
	const most = 12
	var out []string
	for _, key := range keys[:min(most, len(keys))] {
		out = append(out, fmt.Sprintf("%.40q", key))
	}
	if len(keys) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// sampled is how many answers decide which layout a file has.
const sampled = 20

// fits reports whether the first answers of a file have the keys of the layout. Single ones may lack
// some, such as that of an answer that failed.
func (l layout) fits(v any) bool {
	rows, err := l.rows(v)
	if err != nil {
		return false
	}
	found := false
	for _, r := range rows[:min(sampled, len(rows))] {
		object, ok := r.value.(map[string]any)
		if !ok || slices.ContainsFunc(l.lacks, func(key string) bool { return has(object, key) }) {
			return false
		}
		found = found || hasAll(object, l.needs)
	}
	return found
}

func has(object map[string]any, key string) bool { _, ok := object[key]; return ok }

func hasAll(object map[string]any, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !has(object, key) })
}

// locomoOf looks for the outputs of LoCoMo. Their keys contain the names of the systems.
func locomoOf(c *content, system string) (layout, bool, error) {
	var systems []string
	for _, q := range jsonpath.MustParse("$..[?@.qa].qa[*]").Select(c.value) {
		object, ok := q.(map[string]any)
		if !ok {
			return layout{}, false, nil
		}
		for key := range object {
			if name, ok := strings.CutSuffix(key, predictionSuffix); ok && !slices.Contains(systems, name) {
				systems = append(systems, name)
			}
		}
	}
	slices.Sort(systems)
	switch {
	case len(systems) == 0:
		return layout{}, false, nil
	case system == "" && len(systems) == 1:
		return locomoLayout(systems[0]), true, nil
	case slices.Contains(systems, system):
		return locomoLayout(system), true, nil
	case system != "":
		return layout{}, false, fmt.Errorf("%s has no answers of %q; it has those of %s", c.path, system, strings.Join(systems, ", "))
	}
	return layout{}, false, fmt.Errorf("%s has the answers of %d systems; choose one with --system: %s",
		c.path, len(systems), strings.Join(systems, ", "))
}
