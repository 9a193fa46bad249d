package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"

	"github.com/theory/jsonpath"
)

// Format is the name of a layout of stored answers.
type Format string

// The recognised layouts, and the layout of a mapping file.
const (
	LoCoMo      Format = "locomo"       // the reference outputs of LoCoMo
	LongMemEval Format = "longmemeval"  // hypotheses of LongMemEval, with or without an evaluation log
	Zep         Format = "zep"          // Zep's LoCoMo experiment: grades or responses
	Memobase    Format = "memobase"     // Memobase's LoCoMo evaluation, the same as Mem0's
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
	fieldError        = "error" // of the system, in place of an answer
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

	// These and model may also belong to the conversation or the file.
	fieldJudge     = "judge_model"
	fieldPrompt    = "judge_prompt"
	fieldBenchmark = "benchmark"
)

// fieldNames are in the order used in messages.
var fieldNames = []string{
	fieldID, fieldConversation, fieldQuestion, fieldGold, fieldAnswer, fieldVerdict, fieldReason, fieldError, fieldType,
	fieldModel, fieldMS, fieldSeconds, fieldInput, fieldOutput, fieldCost, fieldJudge, fieldPrompt, fieldBenchmark, fieldPosition, fieldCategory, fieldRetrieved,
}

// layout says where to find the answers in a file and the fields in an answer.
type layout struct {
	name Format
	// title names the source of the layout.
	title string
	// conversations selects the parts of the file with one conversation's answers each, and answers
	// is relative to these. Unless a field names it, a conversation is named after the last key on
	// the path to its part, or to the answer if the part is the whole file.
	conversations, answers string
	// fields are the candidate paths of each field in an answer; the first one present counts.
	fields map[string][]string
	// needs are the keys that identify the layout: some answer must have all of them, and no answer
	// any of lacks.
	needs, lacks []string
	// failureScored is set if the file also scores answers with an error, which have no verdict
	// then.
	failureScored bool
	// right and wrong are additional words for verdicts.
	right, wrong []string
	// half are words for a verdict of 0.5, unjudged for a missing verdict.
	half, unjudged []string
	// several is the path, in an answer, of an object with one member per scorer, or of a list
	// of objects with the key of one each. It is empty if there is only one verdict. verdictOf
	// are the paths of the verdict by the scorer %s, and usual is the scorer unless another one
	// is named.
	several, usual string
	verdictOf      []string
	// systems are the paths, in an answer, of the system that gave it, none if a file has only one.
	// The second one divides the answers of the first, such as those of a provider by prompt. system
	// is the selected one, empty for all.
	systems []string
	system  string
	// part is set if the file also has answers or verdicts of others than the selected system.
	part bool
	// status is the path of the state of the file's run, which is "success" if it ended. It is
	// empty if files do not say.
	status string
	// votes says how several judgements become a verdict, empty to derive it from the file's
	// totals.
	votes result.VoteRule
	// judgeID and readerID are the judge and the reader as stated in a mapping.
	judgeID, readerID string
	// mappingSHA256 is the mapping file's digest, empty for a recognised layout.
	mappingSHA256 string
}

// predictionSuffix ends the key of a system's answer in LoCoMo's outputs. The keys of its scores
// share the same prefix.
const predictionSuffix = "_prediction"

// locomoLayout returns the layout of one system's answers in LoCoMo's outputs.
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

// pathOf returns a key as a JSON path.
func pathOf(key string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key)
	return "$['" + escaped + "']"
}

// Formats returns the names of the recognised layouts.
func Formats() []string {
	names := []string{string(LoCoMo)}
	for _, l := range layouts {
		names = append(names, string(l.name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// layoutOf returns the wanted layout, else the one that fits. system selects a system in a file
// with answers of several.
func layoutOf(c *content, wanted Format, system string) (layout, error) {
	var fits []layout
	if l, found, err := locomoOf(c, system); err != nil {
		return l, err
	} else if found {
		fits = append(fits, l)
	}
	fits = append(fits, fitting(c.value)...)
	if _, object := c.value.(map[string]any); object && len(fits) == 0 {
		line := []any{c.value} // with a list of objects, such as what was retrieved
		if fits = fitting(line); len(fits) > 0 {
			c.value = line
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
	what := "has no known layout of answers"
	if wanted != "" {
		what = fmt.Sprintf("is not of the format %s", wanted)
	}
	return layout{}, fmt.Errorf("%s %s; %s; describe it with --mapping FILE, or name one of the formats %s",
		c.path, what, looks(c.value), strings.Join(Formats(), ", "))
}

// fitting returns the layouts of the table that fit.
func fitting(v any) (fits []layout) {
	for _, l := range layouts {
		if l.fits(v) {
			fits = append(fits, l)
		}
	}
	return fits
}

// looks describes a value for authors of a mapping.
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
	return where + " is not an object"
}

// some lists the first keys, abbreviated.
func some(keys []string) string {
	return figure.List(keys, 12, func(k string) string { return fmt.Sprintf("%.40q", k) })
}

// sampled is how many answers are examined to detect a file's layout.
const sampled = 20

// fits reports whether the first answers of a file have the layout's keys. Single answers, such as
// failed ones, may lack some.
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

// locomoOf looks for LoCoMo outputs, whose keys contain the systems' names.
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
		l := locomoLayout(system)
		l.part = len(systems) > 1
		return l, true, nil
	case system != "":
		return layout{}, false, fmt.Errorf("%s has no answers of %q; it has answers of %s", c.path, system, strings.Join(systems, ", "))
	}
	return layout{}, false, fmt.Errorf("%s has the answers of %d systems; choose one with --system: %s",
		c.path, len(systems), strings.Join(systems, ", "))
}
