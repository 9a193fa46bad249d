package page

import (
	"fmt"
	"html/template"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/svg"
)

// limits are the limits of the texts shown for one question, in bytes.
type limits struct{ text, answer, chunk, quote int }

// The maximum number of chunks and citations shown for a question.
const (
	maxChunks    = 10
	maxCitations = 12
)

// The sizes used to choose limits, in bytes: of a page, and of the markup of a question, a chunk
// and a citation. Escaped characters need more space.
const (
	room           = 1800 << 10
	questionMarkup = 1600
	chunkMarkup    = 130
	citationMarkup = 60
	escaped        = 1.05
)

// limitsFor returns the largest limits with which the questions fit on a page. Very many questions
// get the smallest limits and a larger page.
func limitsFor(questions []result.Record) limits {
	for text := 6400; ; text = text * 3 / 4 {
		l := limits{text: text, answer: 2 * text, chunk: text * 3 / 5, quote: text / 4}
		size := 0
		for i := range questions {
			size += l.size(&questions[i])
		}
		if text <= 80 || float64(size)*escaped < room {
			return l
		}
	}
}

// size estimates the size of a question on the page.
func (l limits) size(q *result.Record) int {
	// The question appears in the list and in its details.
	n := questionMarkup + min(len(q.Question), listText) + min(len(q.Question), l.text) +
		min(len(q.Reference), l.text) + min(len(q.Reason), l.text) + min(len(q.Answer), l.answer)
	for i := range q.Retrieved[:min(maxChunks, len(q.Retrieved))] {
		k := &q.Retrieved[i]
		n += chunkMarkup + min(len(k.Text), l.chunk) + min(len(k.Path)+len(k.Title), nameLength)
	}
	for _, raw := range q.Citations[:min(maxCitations, len(q.Citations))] {
		n += citationMarkup + min(len(raw), l.quote)
	}
	return n
}

// detail has the details of a question.
type detail struct {
	Question  text
	Expected  []string
	Reference text
	Gold      []goldDocument
	Answer    []segment
	// AnswerMore is the number of omitted characters of the answer.
	AnswerMore int
	Citations  []citation
	// CitationsMore and ChunksMore are the numbers of omitted citations and chunks.
	CitationsMore int
	Chunks        []chunk
	ChunksMore    int
	Reason        text
	Error         text
	Failed        []string
	Timeline      template.HTML
	Events        string
	Facts         form.Facts
}

// goldDocument is an expected document, and where it was found.
type goldDocument struct {
	Path, Place string
	Found       bool
}

// chunk is a retrieved passage.
type chunk struct {
	Rank        int
	Gold        bool
	Place, Date string
	Score       string
	Text        text
}

func detailOf(q *result.Record, l limits) *detail {
	d := &detail{Question: cut(q.Question, l.text), Reference: cut(q.Reference, l.text), Reason: cut(q.Reason, l.text)}
	for _, e := range q.Expected {
		d.Expected = append(d.Expected, line(e, l.quote))
	}
	d.addGold(q)
	d.addAnswer(q, l)
	d.addChunks(q, l)
	if q.Error != nil {
		d.Error = cut(string(q.Error.Kind)+": "+q.Error.Message, l.text)
	}
	for i, f := range q.Failed {
		d.Failed = append(d.Failed, fmt.Sprintf("attempt %d: %s: %s", i+1, name(string(f.Kind)), line(f.Message, l.quote)))
	}
	d.addTimeline(q)
	if q.Evidence != nil && len(q.Evidence.Ranks) == len(q.ExpectedEvidence) {
		for i, rank := range q.Evidence.Ranks {
			place := "not returned"
			if rank > 0 {
				place = fmt.Sprintf("passage %d", rank)
			}
			d.fact("Evidence", "%s: %s", place, form.Data(line(q.ExpectedEvidence[i], l.quote)))
		}
	}
	for _, leak := range q.Leaks {
		d.fact("Came back in "+string(leak.Place), "%s", form.Data(line(fmt.Sprintf("%q: %s", leak.Text, leak.At), l.quote)))
	}
	d.addFacts(q)
	return d
}

func (d *detail) addGold(q *result.Record) {
	if q.Retrieval == nil {
		for _, p := range q.ExpectedPaths {
			d.Gold = append(d.Gold, goldDocument{Path: name(p), Place: "no ranking"})
		}
		return
	}
	for _, g := range q.Retrieval.Gold {
		place := "not retrieved"
		if g.Rank > 0 {
			place = fmt.Sprintf("rank %d of %s", g.Rank, figure.Count(q.Retrieval.Documents, "document"))
		}
		d.Gold = append(d.Gold, goldDocument{name(g.Path), place, g.Rank > 0})
	}
}

// addChunks adds the first chunks, and later ones if they are gold.
func (d *detail) addChunks(q *result.Record, l limits) {
	for i, k := range q.Retrieved {
		is := q.IsGold(k)
		if i >= maxChunks && !is {
			d.ChunksMore++
			continue
		}
		place := wording.Place(k)
		if k.Title != "" && k.Title != k.Path {
			place = strings.TrimSpace(place + " · " + k.Title)
		}
		d.Chunks = append(d.Chunks, chunk{
			Rank: i + 1, Gold: is, Place: name(place), Date: name(k.Date),
			Score: fmt.Sprintf("%.4g", k.Score), Text: cut(k.Text, l.chunk),
		})
	}
}

// The maximum number of drawn and named entries of a timeline.
const (
	drawnEvents = 24
	namedEvents = 10
)

// addTimeline adds a drawing of the stream and a description in words.
func (d *detail) addTimeline(q *result.Record) {
	end := q.LatencyMS
	var spans []svg.Span
	var words []string
	for i, e := range q.Timeline {
		last := max(e.AtMS, e.LastMS)
		end = max(end, last)
		if i < drawnEvents {
			spans = append(spans, svg.Span{Class: eventClass(e.Event), From: e.AtMS, To: last})
		}
		if i < namedEvents {
			words = append(words, eventWords(e))
		}
	}
	if len(spans) == 0 || end <= 0 {
		return
	}
	if more := len(q.Timeline) - namedEvents; more > 0 {
		words = append(words, fmt.Sprintf("and %d more groups of events", more))
	}
	d.Timeline, d.Events = svg.Timeline(spans, end), strings.Join(words, " · ")
}

func eventClass(event string) string {
	switch event {
	case "retrieve":
		return "e-r"
	case "answer_delta":
		return "e-a"
	case "citation":
		return "e-c"
	case "done":
		return "e-d"
	case "error":
		return "e-e"
	}
	return "e-o"
}

// eventWords describes events: "answer_delta ×34 310 ms to 890 ms (longest pause 60 ms)".
func eventWords(e result.StreamEvents) string {
	what := name(e.Event)
	if e.N < 2 {
		return what + " " + milliseconds(e.AtMS)
	}
	s := fmt.Sprintf("%s ×%d %s to %s", what, e.N, milliseconds(e.AtMS), milliseconds(e.LastMS))
	if e.GapMS > 0 {
		s += " (longest pause " + milliseconds(e.GapMS) + ")"
	}
	return s
}

func (d *detail) fact(name, format string, args ...any) {
	d.Facts = append(d.Facts, form.Fact{Name: name, Value: form.F(format, args...), In: form.HTML})
}

// addFacts adds the figures of the question.
func (d *detail) addFacts(q *result.Record) {
	if q.Attempts > 0 {
		times := "not recorded"
		if q.FromCache() {
			times = "none, the answer is from the cache"
		}
		if took := q.Took(); took != nil {
			times = milliseconds(*took)
		}
		if q.FeltMS != nil && !q.FromCache() {
			times += ", with waits " + milliseconds(*q.FeltMS)
		}
		if first := q.FirstToken(); first != nil {
			times += ", first token after " + milliseconds(*first)
		}
		d.fact("Time", "%s, %s", times, figure.Count(q.Attempts, "attempt"))
	}
	if f := q.FirstTry; f != nil {
		why := f.Reason
		if f.Error != nil {
			why = f.Error.Message
		}
		d.fact(fmt.Sprintf("First of %d tries", q.Tries), "%s: %s", form.Name(f.Outcome), form.Message(why))
	}
	d.addRan(q)
	if u := q.Actor; u != nil {
		paid := u.USD.String()
		if u.Cached {
			paid = "from the cache"
		}
		d.fact("Reader", "%s, %s, %d tokens in, %d out, %s", form.Name(u.Model), figure.Count(u.Attempts, "attempt"), u.Usage.InputTokens, u.Usage.OutputTokens, paid)
	}
	if q.JudgeAttempts > 0 || q.JudgeVerdict != "" {
		d.fact("Judge", "%s", judged(q))
	}
	if text := wording.RecipeVerdicts(q); text != "" {
		d.fact("Recipes", "%s", form.Message(text))
	}
	if r := q.Retrieval; r != nil {
		d.fact("Retrieval", "recall %.3f, nDCG %.3f, reciprocal rank %.3f", r.Recall, r.NDCG, r.ReciprocalRank)
	}
	if q.DeepRank != nil {
		place := "not found further down either"
		if *q.DeepRank > 0 {
			place = fmt.Sprintf("found at rank %d", *q.DeepRank)
		}
		d.fact("Missing gold", "%s", place)
	}
	if o := q.Original; o != nil {
		d.fact("By the dataset's own gold", "%s, reference \"%s\"", form.Name(o.Verdict), form.Name(o.Reference))
	}
	var place []form.Text
	if q.QuestionDate != "" {
		place = append(place, form.F("asked as of %s", form.Name(q.QuestionDate)))
	}
	if q.Type != "" {
		place = append(place, form.F("type %s", form.Name(q.Type)))
	}
	if q.Brain != "" {
		place = append(place, form.F("brain %s", form.Name(q.Brain)))
	}
	if q.Line > 0 {
		place = append(place, form.F("line %d of the dataset", q.Line))
	}
	if len(place) > 0 {
		d.fact("Question", "%s", form.Join(", ", place...))
	}
}

// addRan adds the mode, the fusion and the model that produced the answer.
func (d *detail) addRan(q *result.Record) {
	ran := name(q.EffectiveMode)
	if q.Fusion != "" {
		ran += " (fusion " + name(q.Fusion) + ")"
	}
	ran = strings.TrimSpace(ran + " " + name(q.Model))
	if u := q.Usage; u != nil {
		ran += fmt.Sprintf(", %d tokens in, %d out", u.InputTokens, u.OutputTokens)
	}
	if sum := q.PromptSHA256; sum != "" {
		ran += ", prompt " + name(string(form.Digest(sum)))
	}
	if ran = strings.TrimPrefix(ran, ", "); ran != "" {
		d.fact("Ran", "%s", form.Data(ran))
	}
}

// judged describes the judge's work on one question.
func judged(q *result.Record) form.Text {
	var parts []form.Text
	add := func(format string, args ...any) { parts = append(parts, form.F(format, args...)) }
	if q.JudgeVerdict != "" {
		add("%s", form.Name(q.JudgeVerdict))
	}
	add("%s", figure.Count(q.JudgeAttempts, "attempt"))
	if u := q.JudgeUsage; u != nil {
		estimated := ""
		if q.JudgeUsageEstimated {
			estimated = " (estimated)"
		}
		add("%d tokens in, %d out%s", u.InputTokens, u.OutputTokens, estimated)
	}
	var mayHave llm.USD
	for _, c := range q.JudgeCharges {
		mayHave = mayHave.Plus(c.MayHave())
		if c.UsageProblem != "" {
			add("%s", form.Name(c.UsageProblem))
		}
	}
	switch {
	case q.JudgeCached:
		add("from the cache")
	case q.JudgeUSD > 0: // 0 may also be a price that is not known
		cost := result.Cost{SpentUSD: q.JudgeUSD, MayHaveBeenChargedUSD: mayHave}
		add("%s", wording.CostAmount(&cost))
	}
	return form.Join(", ", parts...)
}
