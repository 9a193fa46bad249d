package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/harness/result"
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
	if i := res.Believed(); i != nil {
		b.Figure += ", " + levelOf(i)
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
	parts := []string{"dataset " + short(id.Dataset.SHA256), "scenario " + name(string(id.Scenario)), "scorer " + name(id.ScoredBy())}
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
	if im := res.Imported; im != nil {
		add("Imported", clean(im.Summary()))
	}
	if k := id.Corpus; k != nil {
		add("Corpus", fmt.Sprintf("%s, %s", name(k.Path), count(k.Documents, "document")))
	}
	add("Environment of the daemon", clean(res.Settings.DaemonEnv.Text(nil)))
	add("Scorer", name(id.ScoredBy()))
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
			right, wrong := k.Judged()
			add("Check of the judge", fmt.Sprintf("%d of %d right answers passed, %d of %d wrong ones failed, %d got no verdict",
				k.RightPassed, right, k.WrongFailed, wrong, k.Unscored))
			add("Warning", k.Note())
			if len(k.Unjudged) > 0 {
				add("First answer without a verdict", name(k.Unjudged[0].Reason))
			}
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

// modes returns the mode that was asked for, and the modes and fusions that ran.
func modes(res *result.Result) string {
	text := name(res.Identity.Mode) + " asked for"
	if len(res.EffectiveModes) > 0 {
		text += "; ran " + counts(res.EffectiveModes)
	}
	if len(res.Fusions) > 0 {
		text += "; fusion " + counts(res.Fusions)
	}
	if n := res.ModesUnknown; n > 0 {
		text += fmt.Sprintf("; not reported by %s", count(n, "answer"))
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
