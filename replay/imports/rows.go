package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"evalctl/harness/result"
	"evalctl/internal/decimal"
)

// row is one answer in a file before its fields are read.
type row struct {
	value any
	way   spec.NormalizedPath
	// place is the answer's path in the file. part is the conversation's part of the file, and
	// conversation its key.
	place, conversation string
	part                any
	// index is the answer's index in its list, -1 without a list.
	index int
}

// answer is one answer as read from a file.
type answer struct {
	path, place string
	index       int // see row
	// id, conversation, question and gold are empty if missing from the file.
	id, conversation, question, gold string
	text                             string
	answered                         bool // the file has a text, which may be empty
	// votes are the judgements, each from 0 to 1, empty without a verdict.
	votes []float64
	// retrieved are ids or texts of retrieved documents, best first.
	retrieved []string
	// position is the question's number in its conversation as given in the file, empty for none.
	position string
	// category is the LoCoMo number of the question's type, empty for none, and kind its name.
	category string
	// occurrence numbers the file's answers to the same question, from 1. twins counts the file's
	// answers with the same conversation, text and gold.
	occurrence, twins int
	// numbered is set if id is not from the file.
	numbered            bool
	reason, kind, model string
	failure             string // the system's error, empty for none
	// fileModel is the model that the answer names, or else its conversation or the file. If the
	// system failed, model is only the one that the answer names: the files of some harnesses
	// call the model otherwise than their answers do.
	fileModel     string
	judge         judge
	latencyMS     float64 // 0 if it is not recorded
	input, output int
	tokens        bool     // whether they are recorded
	cost          *float64 // in dollars, nil if it is not stated
}

// judge is a file's description of an answer's judge and of the benchmark.
type judge struct{ model, prompt, benchmark string }

// rows returns the answers of a file in order.
func (l layout) rows(v any) ([]row, error) {
	outer, err := jsonpath.Parse(l.conversations)
	if err != nil {
		return nil, fmt.Errorf("conversations: %w", err)
	}
	inner, err := jsonpath.Parse(l.answers)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	var out []row
	parts := outer.SelectLocated(v)
	parts.Sort() // the members of an object have no order
	for _, part := range parts {
		located := inner.SelectLocated(part.Node)
		located.Sort()
		for _, a := range located {
			out = append(out, rowAt(part, a))
		}
	}
	return out, nil
}

// rowAt returns the answer at a place in a conversation's part of the file.
func rowAt(part, answer *spec.LocatedNode) row {
	way := slices.Concat(part.Path, answer.Path)
	r := row{
		value: answer.Node, way: way, place: way.String(), part: part.Node, index: -1,
		conversation: lastKey(part.Path),
	}
	if len(part.Path) == 0 {
		r.conversation = lastKey(answer.Path)
	}
	if len(way) > 0 {
		if i, ok := way[len(way)-1].(spec.Index); ok {
			r.index = int(i)
		}
	}
	return r
}

// lastKey returns the last object key in a path, empty if there is none.
func lastKey(path spec.NormalizedPath) (key string) {
	for _, step := range path {
		if name, ok := step.(spec.Name); ok {
			key = string(name)
		}
	}
	return key
}

// reader reads the answers of one file.
type reader struct {
	layout
	path      string
	paths     map[string][]*jsonpath.Path
	usedKey   map[string]string // see usedKeys
	root      any
	outerKeys map[string]bool // the keys of the file and of conversations that fields were read from
	file      *result.ImportedFile
}

// answersOf returns a file's answers, and which keys were read and which were not. Errors name the
// place of an unreadable answer.
func answersOf(c *content, l layout) ([]answer, result.ImportedFile, error) {
	r := reader{layout: l, path: c.path, paths: map[string][]*jsonpath.Path{}, root: c.value, outerKeys: map[string]bool{}}
	r.file = &result.ImportedFile{
		Path: c.path, SHA256: c.sha256, Bytes: c.bytes, Format: string(l.name),
		Mapped: map[string]string{}, LeftOut: map[string]int{},
	}
	for name, texts := range l.fields {
		for _, text := range texts {
			p, err := jsonpath.Parse(text)
			if err != nil {
				return nil, *r.file, fmt.Errorf("%s: %w", name, err)
			}
			r.paths[name] = append(r.paths[name], p)
		}
	}
	r.usedKey = r.usedKeys()
	rows, err := l.rows(c.value)
	if err != nil {
		return nil, *r.file, err
	}
	if rows, err = r.withIncomplete(rows); err != nil {
		return nil, *r.file, err
	}
	r.passedOver(rows)
	rows = slices.DeleteFunc(rows, func(r row) bool { return !l.of(r) })
	if len(rows) == 0 {
		return nil, *r.file, fmt.Errorf("%s: the path of its answers, %s in %s, selects nothing; %s",
			c.path, l.answers, l.conversations, looks(c.value))
	}
	var out []answer
	for _, row := range rows {
		a, err := r.answer(row)
		if err != nil {
			return nil, *r.file, fmt.Errorf("%s: the answer at %s: %w", c.path, row.place, err)
		}
		out = append(out, a)
	}
	r.file.Answers = len(out)
	r.outside(c.value, rows)
	return out, *r.file, nil
}

// filters reports whether a recognised layout selects answers by their keys in the whole file. The
// filter of a mapping is the user's.
func (r *reader) filters() bool {
	return r.mappingSHA256 == "" && r.conversations == "$" && strings.Contains(r.answers, "?")
}

// withIncomplete adds the objects in the lists of answers that have a question and lack one of the
// keys by which the layout selects answers, such as the verdict of a judge that stopped half-way.
func (r *reader) withIncomplete(rows []row) ([]row, error) {
	if !r.filters() {
		return rows, nil
	}
	taken, lists := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		taken[row.place], lists[anyIndex(row.way)] = true, true
	}
	root := &spec.LocatedNode{Node: r.root}
	for list := range lists {
		path, err := jsonpath.Parse(list)
		if err != nil {
			return nil, err
		}
		for _, found := range path.SelectLocated(r.root) {
			// A wildcard also selects the members of an object.
			if !taken[found.Path.String()] && anyIndex(found.Path) == list && r.asks(found.Node) {
				rows = append(rows, rowAt(root, found))
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return a.way.Compare(b.way) })
	return rows, nil
}

// anyIndex returns the path of all places that differ from a place in indexes only.
func anyIndex(place spec.NormalizedPath) string {
	path := "$"
	for _, step := range place {
		if _, ok := step.(spec.Index); ok {
			path += "[*]"
		} else {
			path += spec.Normalized(step).String()[1:]
		}
	}
	return path
}

// asks reports whether a value is an object with a question.
func (r *reader) asks(v any) bool {
	_, object := v.(map[string]any)
	return object && strings.TrimSpace(r.text(fieldQuestion, v)) != ""
}

// located returns the values in v selected by the first path of a field that selects any.
func (r *reader) located(field string, v any) jsonpath.LocatedNodeList {
	for i, p := range r.paths[field] {
		nodes := p.SelectLocated(v)
		nodes.Sort() // the members of an object have no order
		if len(nodes) > 0 {
			r.file.Mapped[field] = cmp.Or(r.file.Mapped[field], r.fields[field][i])
		}
		if len(nodes) > 1 || len(nodes) == 1 && nodes[0].Node != nil {
			r.file.Mapped[field] = r.fields[field][i]
			return nodes
		}
	}
	return nil
}

// values returns the values of a field, without their places.
func (r *reader) values(field string, v any) []any {
	return slices.Collect(r.located(field, v).Nodes())
}

// about returns a field of the answer, or else of its conversation or the file.
func (r *reader) about(field string, in row) string {
	for i, v := range []any{in.value, in.part, r.root} {
		var texts []string
		for _, n := range r.values(field, v) {
			texts = append(texts, strings.TrimSpace(textOf(n)))
		}
		text := strings.TrimSpace(strings.Join(texts, " "))
		if text == "" {
			continue
		}
		for _, p := range r.paths[field] {
			segments := p.Query().Segments()
			if i == 0 || len(segments) == 0 {
				continue
			}
			for _, s := range segments[0].Selectors() {
				if name, ok := s.(spec.Name); ok {
					r.outerKeys[string(name)] = true
				}
			}
		}
		return text
	}
	return ""
}

// answer reads one answer.
func (r *reader) answer(in row) (answer, error) {
	v := in.value
	if _, ok := v.(map[string]any); !ok {
		return answer{}, fmt.Errorf("the answer is not an object: %.60q", textOf(v))
	}
	if err := r.oneKey(v); err != nil {
		return answer{}, err
	}
	a := answer{
		path: r.path, place: in.place, index: in.index, id: r.text(fieldID, v), question: strings.TrimSpace(r.text(fieldQuestion, v)),
		gold: strings.TrimSpace(r.text(fieldGold, v)), reason: r.text(fieldReason, v), failure: r.failure(v), kind: r.text(fieldType, v),
		conversation: r.text(fieldConversation, v),
	}
	a.fileModel = r.about(fieldModel, in)
	if a.model = a.fileModel; a.failure != "" {
		a.model = strings.TrimSpace(r.text(fieldModel, v))
	}
	if a.conversation == "" {
		if a.conversation = in.conversation; a.conversation == "" || len(r.paths[fieldConversation]) > 0 {
			a.conversation = r.text(fieldConversation, in.part)
		}
	}
	a.text, a.position = r.text(fieldAnswer, v), r.text(fieldPosition, v)
	a.answered = len(r.values(fieldAnswer, v)) > 0
	a.judge = judge{r.about(fieldJudge, in), r.about(fieldPrompt, in), r.about(fieldBenchmark, in)}
	var err error
	for _, id := range r.values(fieldRetrieved, v) {
		a.retrieved = append(a.retrieved, textOf(id))
	}
	if a.category = r.text(fieldCategory, v); a.kind == "" {
		a.kind = locomoType(a.category)
	}
	if a.votes, err = r.judged(r.values(fieldVerdict, v)); err != nil {
		return a, err
	}
	if r.failureScored && a.failure != "" {
		a.votes = nil
	}
	if a.latencyMS, err = r.milliseconds(v); err != nil {
		return a, err
	}
	for field, to := range map[string]*int{fieldInput: &a.input, fieldOutput: &a.output} {
		n, known, err := r.number(field, v)
		if err != nil {
			return a, err
		}
		*to, a.tokens = int(n), a.tokens || known
	}
	if a.cost, err = r.dollars(v); err != nil {
		return a, err
	}
	r.leftOut(v.(map[string]any))
	return a, nil
}

// failure returns the system's error, empty for none. Values such as false and {} are none.
func (r *reader) failure(v any) string {
	for _, value := range r.values(fieldError, v) {
		text := strings.TrimSpace(textOf(value))
		if !slices.Contains([]string{"", "false", "0", "none", "null", "nan", "{}", "[]"}, strings.ToLower(text)) {
			return text
		}
	}
	return ""
}

// maxCost limits the cost of an answer, in dollars, so that sums stay exact.
const maxCost = 1_000_000

// dollars returns the answer's cost, nil if not stated.
func (r *reader) dollars(v any) (*float64, error) {
	usd, known, err := r.number(fieldCost, v)
	switch {
	case err != nil || !known:
		return nil, err
	case usd > maxCost:
		return nil, fmt.Errorf("the cost is %v dollars, the limit is %d", usd, maxCost)
	}
	return &usd, nil
}

// milliseconds returns the latency, 0 if not recorded.
func (r *reader) milliseconds(v any) (float64, error) {
	ms, known, err := r.number(fieldMS, v)
	if err == nil && !known {
		ms, _, err = r.number(fieldSeconds, v)
		ms *= 1000
	}
	return ms, err
}

// number returns a non-negative number.
func (r *reader) number(field string, v any) (n float64, known bool, err error) {
	nodes := r.values(field, v)
	if len(nodes) == 0 || textOf(nodes[0]) == "" {
		return 0, false, nil
	}
	n, err = decimal.Parse(textOf(nodes[0]))
	if err != nil || !(n >= 0 && n < 1e15) {
		return 0, false, fmt.Errorf("%s is %.40q, and must be a number that is not negative", field, textOf(nodes[0]))
	}
	return n, true, nil
}

// leftOut counts an answer's unread members. Members of nested objects are counted under keys such
// as meta.source.
func (r *reader) leftOut(object map[string]any) {
	var walk func(object map[string]any, prefix string)
	walk = func(object map[string]any, prefix string) {
		for key, v := range object {
			inner, isObject := v.(map[string]any)
			switch used := r.usedKey[prefix+key]; {
			case used == "":
				r.file.LeftOut[prefix+key]++
			case used == partly && isObject:
				walk(inner, prefix+key+".")
			}
		}
	}
	walk(object, "")
}

// Whether a member is read wholly or partly.
const (
	wholly = "wholly"
	partly = "partly"
)

// usedKeys returns how much of each member of an answer is read, by dotted key.
func (r *reader) usedKeys() map[string]string {
	used := map[string]string{}
	for _, paths := range r.paths {
		for _, p := range paths {
			key, segments := "", p.Query().Segments()
			for i, s := range segments {
				name, ok := s.Selectors()[0].(spec.Name)
				if !ok {
					used[strings.TrimSuffix(key, ".")] = wholly
					break
				}
				key += string(name)
				if i == len(segments)-1 {
					used[key] = wholly
				} else if used[key] == "" {
					used[key] = partly
				}
				key += "."
			}
		}
	}
	return used
}

// passedOver counts the objects with a question that are not among the answers, by the path of
// their list. outside counts the members of the file that contain no answer.
func (r *reader) passedOver(rows []row) {
	if !r.filters() {
		return
	}
	taken, holding := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		taken[row.place] = true
		for i := range row.way {
			holding[row.way[:i].String()] = true
		}
	}
	var walk func(v any, place spec.NormalizedPath, keys string)
	walk = func(v any, place spec.NormalizedPath, keys string) {
		switch at := place.String(); {
		case taken[at]:
			return
		case !holding[at] && r.asks(v):
			r.file.LeftOut[keys]++
			return
		}
		switch v := v.(type) {
		case []any:
			for i, element := range v {
				walk(element, append(slices.Clip(place), spec.Index(i)), keys)
			}
		case map[string]any:
			for key, member := range v {
				at := append(slices.Clip(place), spec.Name(key))
				if len(place) > 0 || holding[at.String()] {
					walk(member, at, keys+"."+key)
				}
			}
		}
	}
	walk(r.root, nil, "$")
}

// outside counts the unread members of the file and its conversations that contain no answers.
func (r *reader) outside(v any, rows []row) {
	within := map[string]bool{}
	for _, row := range rows {
		within[topKey(row.place)] = true
	}
	if object, ok := v.(map[string]any); ok {
		for key := range object {
			if !within[topKey(pathOf(key))] && !r.outerKeys[key] {
				r.file.LeftOut["$."+key]++
			}
		}
	}
	holds := topKey(r.answers)
	seen := map[string]bool{}
	for _, row := range rows {
		object, ok := row.part.(map[string]any)
		part := row.place[:max(0, strings.LastIndex(row.place, "["))]
		if !ok || seen[part] || r.conversations == "$" {
			continue
		}
		seen[part] = true
		for key := range object {
			if r.usedKey[key] == "" && !r.outerKeys[key] && holds != key && holds != "" {
				r.file.LeftOut["$."+key]++
			}
		}
	}
}

// topKey returns the first key of a path, empty if it begins otherwise.
func topKey(path string) string {
	p, err := jsonpath.Parse(path)
	if err != nil || len(p.Query().Segments()) == 0 {
		return ""
	}
	for _, s := range p.Query().Segments()[0].Selectors() {
		if name, ok := s.(spec.Name); ok {
			return string(name)
		}
	}
	return ""
}
