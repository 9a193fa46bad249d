package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/printable"
)

// retrieveEvent is the event of a stream that has the retrieved chunks.
const retrieveEvent = "retrieve"

// Traces writes a trace for each question of a result, an export of OTLP as JSON on each line. A
// question without the time at which it was asked has none, and a child span is left out if the
// record does not have its start and its end. A document without results, one in which no question
// has a time, and a failure of w are errors.
func Traces(w io.Writer, d Document) error {
	arms := armsOf(d)
	if arms == nil {
		return errors.New("only a result of run or replay has traces")
	}
	b := bufio.NewWriter(w)
	out := json.NewEncoder(b)
	untimed, written := 0, 0
	for i := range arms {
		if arms[i].Run == nil {
			continue
		}
		for q := range arms[i].Run.Questions {
			r := &arms[i].Run.Questions[q]
			switch {
			case !r.Outcome.Asked():
				continue
			case r.AskedAt.IsZero() || r.Untimed:
				untimed++
				continue
			}
			written++
			if err := out.Encode(arms[i].export(r)); err != nil {
				return err
			}
		}
	}
	if untimed > 0 && written == 0 {
		return errors.New("no question has the time at which it was asked: the answers are imported, or the result is of an evalctl that did not record it")
	}
	return b.Flush()
}

// export returns the trace of a question.
func (a *Arm) export(r *result.Record) otlpExport {
	id := &a.Run.Result.Identity
	var of otlpAttributes
	of.text("service.name", "evalctl")
	of.text("service.version", id.Tool.Version)
	of.text("evalctl.target", a.Name)
	of.text("evalctl.daemon.version", id.Daemon.Version)
	of.text("evalctl.dataset", DatasetName(id))
	of.text("evalctl.dataset.sha256", id.Dataset.SHA256)
	of.text("evalctl.scenario", string(id.Scenario))
	of.text("evalctl.run.started_at", a.Run.Result.StartedAt.UTC().Format(time.RFC3339Nano))
	return otlpExport{[]otlpResourceSpans{{
		otlpResource{of}, []otlpScopeSpans{{otlpScope{"evalctl", id.Tool.Version}, a.spans(r)}},
	}}}
}

// spans returns the spans of a question and its parts.
func (a *Arm) spans(r *result.Record) []otlpSpan {
	res := &a.Run.Result
	trace := otlpID(16, a.Name, string(res.Identity.Scenario), res.StartedAt.UnixNano(), r.ID, r.Repeat)
	took := r.LatencyMS
	if r.FeltMS != nil {
		took = *r.FeltMS
	}
	answered := r.AskedAt.Add(milliseconds(took)) // also from the cache: the spans say when it was there
	root := otlpSpan{Name: "question", Kind: kindInternal, Start: unixNano(r.AskedAt), Attributes: a.questionAttributes(r), Status: questionStatus(r)}
	end := answered
	var children []otlpSpan
	add := func(name string, from, to time.Time, attributes otlpAttributes) {
		children = append(children, otlpSpan{Name: name, Kind: kindClient, Start: unixNano(from), End: unixNano(to), Attributes: attributes})
	}
	parts := partsOf(r, &res.Identity, answered)
	if !parts.retrieved.IsZero() {
		add("retrieval", parts.sent, parts.retrieved, a.retrievalAttributes(r))
	}
	if !parts.read.IsZero() {
		add("answer", parts.read, answered, answerAttributes(r))
	}
	if !r.JudgedAt.IsZero() {
		judged := r.JudgedAt.Add(milliseconds(r.JudgeMS))
		add("judge", r.JudgedAt, judged, a.judgeAttributes(r))
		if judged.After(end) {
			end = judged
		}
	}
	root.End = unixNano(end)
	spans := append([]otlpSpan{root}, children...)
	for i := range spans {
		spans[i].TraceID, spans[i].SpanID = trace, otlpID(8, trace, spans[i].Name)
		if i > 0 {
			spans[i].Parent = spans[0].SpanID
		}
	}
	return spans
}

// answerParts has the times of the parts of an answer, zero for those that are not known.
type answerParts struct {
	sent      time.Time // the answering attempt
	retrieved time.Time // the passages were there
	read      time.Time // the model, or a daemon that says nothing of its retrieval, began to answer
}

// partsOf returns the times of the parts of an answer that was there at answered.
func partsOf(r *result.Record, id *result.Identity, answered time.Time) (p answerParts) {
	sent := answered.Add(-milliseconds(r.LatencyMS)) // the attempts before it come first
	failed := r.Outcome == result.Errored
	switch at := slices.IndexFunc(r.Timeline, func(e result.StreamEvents) bool { return e.Event == retrieveEvent }); {
	case r.SearchMS != nil && r.FeltMS == nil:
		// The daemon searched, and a reader of evalctl answered. The case below has waits, before
		// the search or the answer. A look below top-k delays the reader.
		p.sent, p.retrieved = sent, sent.Add(milliseconds(*r.SearchMS))
		if r.DeepRank == nil && !failed {
			p.read = p.retrieved
		}
	case r.SearchMS != nil:
	case at >= 0:
		p.sent, p.retrieved = sent, sent.Add(milliseconds(r.Timeline[at].AtMS))
		if !failed {
			p.read = p.retrieved
		}
	case failed:
	case id.Scenario == result.SearchOnly:
		p.sent, p.retrieved = sent, answered
	default:
		p.read = sent
	}
	return p
}

func (a *Arm) questionAttributes(r *result.Record) (out otlpAttributes) {
	out.text("evalctl.question.id", r.ID)
	if r.Repeat > 0 {
		out.whole("evalctl.question.repeat", r.Repeat)
	}
	out.texts("evalctl.question.tags", r.Tags)
	out.text("evalctl.outcome", string(r.Outcome))
	out.flag("evalctl.passed", r.Passed)
	out.whole("evalctl.attempts", r.Attempts)
	out.text("evalctl.loss", string(r.Cause))
	if r.Error != nil {
		out.text("error.type", string(r.Error.Kind))
	}
	if r.Score != nil {
		label := "fail"
		if r.Passed {
			label = "pass"
		}
		out.text("gen_ai.evaluation.name", wording.ScoredBy(a.Run.Result.Identity))
		out.real("gen_ai.evaluation.score.value", *r.Score)
		out.text("gen_ai.evaluation.score.label", label)
	}
	return out
}

// questionStatus returns OK for a question that passed and ERROR for one without a verdict. A wrong
// answer has neither: nothing went wrong on the way to it.
func questionStatus(r *result.Record) otlpStatus {
	switch {
	case r.Passed:
		return otlpStatus{Code: statusOK}
	case r.Error != nil:
		return otlpStatus{statusError, printable.Line(r.Error.Message, messageLength)}
	case r.Outcome == result.Unscored:
		return otlpStatus{statusError, printable.Line(cmp.Or(r.Reason, "no verdict"), messageLength)}
	}
	return otlpStatus{}
}

func (a *Arm) retrievalAttributes(r *result.Record) (out otlpAttributes) {
	out.text("gen_ai.operation.name", "retrieval")
	out.text("gen_ai.data_source.id", cmp.Or(r.Brain, a.Run.Result.Brain))
	out.text("evalctl.retrieval.mode", r.EffectiveMode)
	out.whole("evalctl.retrieval.chunks", len(r.Retrieved))
	if g := r.Retrieval; g != nil {
		out.real("evalctl.retrieval.recall", g.Recall)
	}
	return out
}

func answerAttributes(r *result.Record) (out otlpAttributes) {
	out.text("gen_ai.operation.name", "chat")
	out.text("gen_ai.response.model", r.Model)
	if u := r.Usage; u != nil {
		out.whole("gen_ai.usage.input_tokens", u.InputTokens)
		out.whole("gen_ai.usage.output_tokens", u.OutputTokens)
	}
	if u := r.Actor; u != nil {
		if u.FinishReason != "" {
			out.texts("gen_ai.response.finish_reasons", []string{u.FinishReason})
		}
		out.real("evalctl.cost_usd", inDollars(u.USD))
	}
	return out
}

func (a *Arm) judgeAttributes(r *result.Record) (out otlpAttributes) {
	out.text("gen_ai.operation.name", "chat")
	if j := a.Run.Result.Identity.Judge; j != nil {
		out.text("gen_ai.provider.name", j.Provider)
		out.text("gen_ai.request.model", j.Model)
	}
	if u := r.JudgeUsage; u != nil {
		out.whole("gen_ai.usage.input_tokens", u.InputTokens)
		out.whole("gen_ai.usage.output_tokens", u.OutputTokens)
	}
	out.whole("evalctl.attempts", r.JudgeAttempts)
	out.real("evalctl.cost_usd", inDollars(r.JudgeUSD))
	return out
}
