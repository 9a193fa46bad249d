package page

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// addRun adds all sections of a result.
func (d *document) addRun(c Content) {
	res := c.Result
	d.Title = fmt.Sprintf("%s: %d of %d passed", name(res.SDK), res.Passed, res.Total)
	d.Band = runBand(res)
	d.Warnings = runWarnings(res)
	d.Tool = toolOf(res.Identity.Tool)
	list := newQuestions(c)
	d.add(rateSection(res))
	if c.Comparison != nil {
		for _, s := range comparisonSections(c.Comparison, list.anchors) {
			d.add(s)
		}
	}
	d.add(lossSection(res))
	d.add(retrievalSection(res))
	d.add(latencySection(c))
	d.add(costSection(res))
	d.add(trendSection(c))
	d.add(ranSection(c))
	d.add(methodSection(c))
	d.add(list.section())
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// runBand returns the verdict.
func runBand(res *result.Result) band {
	dataset := res.Identity.Dataset.Path
	dataset = dataset[strings.LastIndexAny(dataset, `/\`)+1:]
	b := band{Heading: name(res.SDK) + " on " + name(dataset),
		About: about(res), Rate: rateOf(res.PassRate), Figure: "pass rate"}
	if res.Interval != nil {
		b.Figure += ", " + levelOf(res.Interval)
	}
	g := res.Gate
	if g == nil {
		b.Class, b.Mark, b.Word, b.Sentence = "none", "–", "No verdict", "this result has no floor"
		return b
	}
	switch g.Verdict {
	case result.Pass:
		b.Class, b.Mark, b.Word = "pass", "✓", "Pass"
	case result.Fail:
		b.Class, b.Mark, b.Word = "fail", "✗", "Fail"
	case result.Inconclusive:
		b.Class, b.Mark, b.Word = "warn", "‖", "Inconclusive"
	default:
		b.Class, b.Mark, b.Word = "warn", "!", "Invalid"
	}
	b.Sentence = clean(g.Sentence)
	if proof := g.ProofText(); proof != "" && !strings.Contains(g.Sentence, proof) {
		b.More = append(b.More, clean(proof))
	}
	return b
}

// about says in a line what was measured.
func about(res *result.Result) string {
	id := res.Identity
	parts := []string{"dataset " + short(id.Dataset.SHA256), "scenario " + name(string(id.Scenario)), "scorer " + name(id.Scorer)}
	if id.Judge != nil {
		parts = append(parts, fmt.Sprintf("judge %s, prompt %s", name(id.Judge.Model), short(id.Judge.PromptSHA256)))
	}
	return strings.Join(append(parts, moment(res.StartedAt)), " · ")
}

// levelOf returns an interval with its level and method, such as "95% CI 0.812–0.968 (Wilson)".
func levelOf(i *result.Interval) string {
	return fmt.Sprintf("%.0f%% CI %s (%s)", 100*i.Confidence, intervalOf(i), methodName(i.Method))
}

// runWarnings are what makes the figures less than a result over the whole dataset.
func runWarnings(res *result.Result) []string {
	var out []string
	if s := selectionText(res.Identity.Dataset); s != "" {
		out = append(out, s+": not comparable with a result over all questions")
	}
	if res.Stopped != "" {
		out = append(out, fmt.Sprintf("stopped (%s) after %d of %s: this is not a score",
			clean(string(res.Stopped)), res.Counts.Finished(), count(res.Planned, "question")))
	}
	if m := res.Cost.UnpricedModel; m != "" {
		out = append(out, fmt.Sprintf("the price of the judge %s is not known: its cost is missing", name(m)))
	}
	return out
}

// selectionText describes a selection that leaves questions out, and is empty for others.
func selectionText(id result.DatasetID) string {
	if !id.Selection.Partial(id.Questions()) {
		return ""
	}
	return "selection: " + clean(id.SelectionText())
}

// rateSection shows the pass rate, overall and by tag and stratum.
func rateSection(res *result.Result) section {
	s := section{ID: "rate", Title: "Pass rate"}
	floor := math.NaN()
	if res.Gate != nil {
		floor = res.Gate.Floor
	}
	t := newRates("Pass rates, with their 95% intervals")
	t.add("all questions", res.Counts, res.PassRate, res.Interval, floor)
	if r := res.Replay; r != nil {
		for _, q := range r.Strata {
			t.add("type "+name(q.Name), q.Counts, q.PassRate, q.Interval, math.NaN())
		}
	}
	for _, tag := range sortedKeys(res.Tags) {
		f := res.Tags[tag]
		t.add(name(tag), f.Counts, f.PassRate, f.Interval, tagFloor(res, tag))
	}
	s.add(block{Table: &t.table})
	if !math.IsNaN(floor) {
		s.add(block{Text: fmt.Sprintf("Bar: the rate. Whisker: its interval. Dashed line: the floor, %.3f for all questions.", floor)})
	}
	n := res.Counts
	if n.Scored > 0 && n.Scored < n.Total {
		s.add(block{Text: fmt.Sprintf("%d scored, %s and %d unscored; the latter two count as not passed. "+
			"Over the scored ones alone the rate is %.3f.",
			n.Scored, count(n.Errors, "error"), n.Unscored, float64(n.Passed)/float64(n.Scored))})
	}
	if n.NoGold > 0 {
		s.add(block{Text: fmt.Sprintf("%s without gold were left out.", count(n.NoGold, "question"))})
	}
	if res.MeanScore != nil {
		mean := rateOf(res.MeanScore) + " over the scored questions"
		if res.MeanScoreInterval != nil {
			mean += ", " + levelOf(res.MeanScoreInterval)
		}
		s.add(block{Facts: []fact{{Name: "Mean score", Value: mean}}})
	}
	s.add(gateBlocks(res)...)
	s.add(estimates(res)...)
	s.add(repeatBlocks(res.Repeats)...)
	return s
}

// tagFloor returns the floor of a tag, NaN without one.
func tagFloor(res *result.Result, tag string) float64 {
	if res.Gate != nil {
		for _, g := range res.Gate.Tags {
			if g.Tag == tag {
				return g.Floor
			}
		}
	}
	return math.NaN()
}

// rates is a table of pass rates.
type rates struct{ table }

func newRates(caption string) *rates {
	return &rates{table{Caption: caption, Columns: columns(
		"questions", ">rate", "0 to 1", ">95% CI", ">passed", ">of", ">errors", ">unscored")}}
}

func (t *rates) add(what string, n result.Counts, rate *float64, i *result.Interval, floor float64) {
	bar := cell{}
	if rate != nil {
		v := svg.Interval{Value: *rate, Low: math.NaN(), High: math.NaN()}
		if i != nil {
			v.Low, v.High = i.Low, i.High
		}
		bar.Bar = svg.Bar(v, floor)
	}
	t.row(append([]cell{{Text: what}, {Text: rateOf(rate)}, bar},
		cells(intervalOf(i), fmt.Sprint(n.Passed), fmt.Sprint(n.Total), fmt.Sprint(n.Errors), fmt.Sprint(n.Unscored))...)...)
}

// estimates shows what else is known of the pass rate: clusters and strata.
func estimates(res *result.Result) []block {
	var facts []fact
	if c := res.Clustered; c != nil {
		what := "clusters of tag " + name(c.Tag)
		if c.Tag == "" {
			what = "repeats of each question"
		}
		text := fmt.Sprintf("%s; standard error %s, %.4f if all were independent",
			count(c.Clusters, "cluster"), number(c.SE), c.NaiveSE)
		if c.Interval != nil {
			text = levelOf(c.Interval) + ", " + text + ". Believe this interval: it respects that the questions of a cluster are alike"
		}
		facts = append(facts, fact{Name: "By " + what, Value: text})
	}
	if r := res.Replay; r != nil {
		if w := r.Weighted; w != nil {
			facts = append(facts, fact{Name: "Whole benchmark", Value: fmt.Sprintf("%.3f, %s, estimated from the types by their shares of the benchmark", w.Mean, levelOf(&w.Interval))})
		}
		if r.Macro != nil {
			facts = append(facts, fact{Name: "Mean of the types", Value: rateOf(r.Macro)})
		}
		if e := r.Errata; e != nil {
			facts = append(facts, fact{Name: "Without errata", Value: fmt.Sprintf("%s, %d of %d; the errata exclude %d and correct %d questions",
				rateOf(e.OriginalPassRate), e.Original.Passed, e.Original.Total, e.Excluded, e.Corrected)})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return []block{{Facts: facts}}
}

func number(f *float64) string {
	if f == nil {
		return absent
	}
	return fmt.Sprintf("%.4f", *f)
}

// gateBlocks shows the rules of the gate other than the floor of all questions.
func gateBlocks(res *result.Result) []block {
	g := res.Gate
	if g == nil {
		return nil
	}
	var out []block
	lost := fmt.Sprintf("errors %d of %d allowed (%s), unscored %d of %d allowed (%s)",
		g.MaxErrors.Count, g.MaxErrors.Allowed, g.MaxErrors.Max, g.MaxUnscored.Count, g.MaxUnscored.Allowed, g.MaxUnscored.Max)
	facts := []fact{{Name: "Without a score", Value: lost}}
	if text := g.FloorText(); text != "" {
		facts = append([]fact{{Name: "Floor", Value: clean(text)}}, facts...)
	}
	out = append(out, block{Facts: facts})
	if len(g.Tags) > 0 {
		t := &table{Caption: "Floors of tags", Columns: columns("tag", "verdict", ">floor", "how certain")}
		for _, tag := range g.Tags {
			verdict := cell{Text: "below", Mark: "✗", Class: "fail"}
			if tag.Met {
				verdict = cell{Text: "reached", Mark: "✓", Class: "pass"}
			}
			t.row(cell{Text: name(tag.Tag)}, verdict, cell{Text: fmt.Sprintf("%.3f", tag.Floor)}, cell{Text: clean(tag.Text(g.Mode))})
		}
		out = append(out, block{Table: t})
	}
	if b := g.Baseline; b != nil {
		out = append(out, baselineBlock(b))
	}
	return out
}

// baselineBlock shows the comparison with the baseline of the gate.
func baselineBlock(b *result.BaselineGate) block {
	facts := []fact{
		{Name: "Baseline", Value: name(b.Path)},
		{Name: "Verdict", Value: clean(b.Text())},
		{Name: "Pairs", Value: fmt.Sprintf("both passed %d, only this run %d, only the baseline %d, neither %d; %d not paired; exact McNemar p %s",
			b.Both, b.OnlyRun, b.OnlyBaseline, b.Neither, b.Unpaired, pValue(&b.P))},
	}
	for _, f := range []struct {
		name string
		ids  []string
	}{{"Differs in", b.Differs}, {"Broke", b.Broke}, {"Fixed", b.Fixed}} {
		if len(f.ids) > 0 {
			facts = append(facts, fact{Name: f.name, Value: some(f.ids)})
		}
	}
	return block{Facts: facts}
}

// listed is how many ids a list of them names.
const listed = 50

// some lists names, and how many there are more.
func some(names []string) string {
	var shown []string
	for _, n := range names[:min(listed, len(names))] {
		shown = append(shown, name(n))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// repeatBlocks shows what a run that asks each question several times knows.
func repeatBlocks(r *result.Repeats) []block {
	if r == nil {
		return nil
	}
	t := &table{Caption: fmt.Sprintf("%s, asked %d times each", count(r.Questions, "question"), r.K),
		Columns: columns("attempts k", ">pass@k", ">pass^k")}
	for _, at := range r.At {
		t.row(cells(fmt.Sprint(at.K), fmt.Sprintf("%.3f", at.PassAt), fmt.Sprintf("%.3f", at.PassHat))...)
	}
	var rates []string
	for _, rate := range r.Rates {
		rates = append(rates, fmt.Sprintf("%.3f", rate))
	}
	facts := []fact{
		{Name: "Passed each time", Value: count(r.Stable, "question")},
		{Name: "Never passed", Value: count(r.Never, "question")},
		{Name: "Flaky", Value: count(len(r.Flaky), "question")},
		{Name: "Rate of each repeat", Value: strings.Join(rates, ", ")},
		{Name: "Variance", Value: fmt.Sprintf("%s between questions, %s between repeats of a question", number(r.QuestionVariance), number(r.RunVariance))},
	}
	out := []block{{Table: t}, {Facts: facts}}
	if len(r.Flaky) > 0 {
		t := &table{Caption: "Flaky questions, which passed some of their repeats", Columns: columns("question", ">passed", ">asked")}
		for _, q := range r.Flaky[:min(listed, len(r.Flaky))] {
			t.row(cells(name(q.ID), fmt.Sprint(q.Passed), fmt.Sprint(q.Asked))...)
		}
		out = append(out, block{Table: t})
		if more := len(r.Flaky) - listed; more > 0 {
			out = append(out, block{Text: fmt.Sprintf("and %d more, see the result file", more)})
		}
	}
	return out
}

// ranSection says what ran.
func ranSection(c Content) section {
	res, id := c.Result, c.Result.Identity
	facts := []fact{
		{Name: "Result file", Value: name(c.Path)},
		{Name: "SDK", Value: name(id.SDK)},
		{Name: "Daemon", Value: strings.TrimSpace(name(id.Daemon.Program+" "+id.Daemon.Endpoint) + " " + name(id.Daemon.Version))},
		{Name: "Scenario", Value: fmt.Sprintf("%s, top-k %d", name(string(id.Scenario)), id.TopK)},
		{Name: "Mode", Value: modes(res)},
		{Name: "Dataset", Value: fmt.Sprintf("%s, %s", name(id.Dataset.Path), asked(id.Dataset))},
	}
	add := func(what, value string) {
		if value != "" {
			facts = append(facts, fact{Name: what, Value: value})
		}
	}
	if k := id.Corpus; k != nil {
		add("Corpus", fmt.Sprintf("%s, %s", name(k.Path), count(k.Documents, "document")))
	}
	add("Scorer", name(id.Scorer))
	if j := id.Judge; j != nil {
		add("Judge", fmt.Sprintf("%s %s, prompt %s, temperature %s", name(j.Provider), name(j.Model), name(j.PromptVersion), temperature(j.Temperature)))
	}
	if r := id.Reader; r != nil {
		add("Reader asked for", strings.TrimSpace(name(r.Provider)+" "+name(r.Model)))
	}
	add("Reader ran", counts(res.ReaderModels))
	if r := res.Replay; r != nil {
		add("Arm", name(r.Arm))
		add("Sample", fmt.Sprintf("%d of %d, seed %d", r.Sample.Size, r.Sample.Population, r.Sample.Seed))
		add("Actor", strings.TrimSpace(name(r.Actor.Style)+" "+name(r.Actor.Model)))
		if i := r.Ingest; i != nil {
			add("Ingest", fmt.Sprintf("mode %s, %s (%d reused), %s, %s", name(i.Mode), count(i.Brains, "brain"), i.Reused, count(i.Sessions, "session"), count(i.Documents, "document")))
		}
		if k := r.Controls; k != nil {
			add("Check of the judge", fmt.Sprintf("%d of %d right answers passed, %d of %d wrong ones failed, %d unscored",
				k.RightPassed, k.Right, k.WrongFailed, k.Wrong, k.Unscored))
		}
	}
	took := res.FinishedAt.Sub(res.StartedAt)
	add("Time", fmt.Sprintf("%s to %s, %s, %d at a time", moment(res.StartedAt), moment(res.FinishedAt),
		took.Round(10*time.Millisecond), res.Settings.Concurrency))
	if res.Resumed > 0 {
		add("Resumed", count(res.Resumed, "question")+" came from the journal of an interrupted run")
	}
	add("Tool", toolOf(id.Tool))
	return section{ID: "ran", Title: "What ran", Blocks: []block{{Facts: facts}, {Files: runFiles(c)}}}
}

// modes returns the mode that was asked for and those that ran.
func modes(res *result.Result) string {
	text := name(res.Identity.Mode) + " asked for"
	if len(res.EffectiveModes) > 0 {
		text += "; ran " + counts(res.EffectiveModes)
	}
	return text
}

func asked(d result.DatasetID) string {
	text := count(d.Selected, "question")
	if d.Repeats > 1 {
		text = fmt.Sprintf("%s, %d times each", count(d.Selected/d.Repeats, "question"), d.Repeats)
	}
	if s := selectionText(d); s != "" {
		text += "; " + s
	} else if d.Selection != nil {
		text += ", " + clean(d.Selection.String())
	}
	return text
}

func temperature(t *float64) string {
	if t == nil {
		return "default"
	}
	return fmt.Sprint(*t)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func toolOf(t result.ToolID) string {
	return name(fmt.Sprintf("evalctl %s (%s, %s, %s/%s, %d CPUs)", t.Version, t.Commit, t.Go, t.OS, t.Arch, t.CPUs))
}

// filesLimit is the size up to which a page contains files, in bytes.
const filesLimit = 256 << 10

// runFiles returns the figures as JSON and the verdicts as JSON Lines, which evalctl compare reads.
// What would make the page too large is left out.
func runFiles(c Content) []file {
	var out []file
	add := func(kind, what string, data []byte) {
		if len(data) <= filesLimit {
			base := name(c.Result.SDK)
			out = append(out, file{Name: base + kind, Text: what, URL: dataURL(data)})
		}
	}
	if head, err := json.MarshalIndent(c.Result, "", "  "); err == nil {
		add(".figures.json", "Save the figures (JSON, without questions)", head)
	}
	if c.Result.Identity.Dataset.Repeats > 1 {
		return out // JSON Lines has each question once
	}
	var lines []byte
	for i := range c.Questions {
		q := &c.Questions[i]
		line, err := json.Marshal(verdictLine{q.ID, q.Passed, q.Score, q.LatencyMS, q.Tags})
		if err != nil {
			return out
		}
		if lines = append(append(lines, line...), '\n'); len(lines) > filesLimit {
			return out
		}
	}
	add(".verdicts.jsonl", "Save the verdicts (JSON Lines, one question a line)", lines)
	return out
}

type verdictLine struct {
	ID        string   `json:"id"`
	Passed    bool     `json:"passed"`
	Score     *float64 `json:"score"`
	LatencyMS float64  `json:"latency_ms"`
	Tags      []string `json:"tags,omitempty"`
}

// dataURL returns a URL that contains data. It is safe: browsers save it and do not show it.
func dataURL(data []byte) template.URL {
	return template.URL("data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(data))
}
