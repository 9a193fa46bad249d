package display

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"evalctl/harness/ledger"
	"evalctl/harness/report/form"
	"evalctl/harness/report/text"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// Inputs prints the benchmark, the sample and the models.
func Inputs(t *terminal.Terminal, p *replay.Plan) {
	load := p.Benchmark.Report
	t.Field("dataset", "%s  %s  %s in %s  %s  sha256 %s", terminal.Line(load.Path), load.Format,
		figure.Count(load.Questions, "question"), figure.Count(load.Haystacks, "haystack"), figure.Count(load.Sessions, "session"),
		terminal.Short(load.SHA256, 9))
	if len(load.Traps) > 0 {
		var parts []string
		for _, trap := range load.Traps {
			parts = append(parts, fmt.Sprintf("%s %d", trap.Kind, trap.Count))
		}
		form.Field(t, "handled", parts)
	}
	if e := p.Benchmark.Errata; e != nil {
		t.Field("errata", "%s  %d excluded  %d corrected  sha256 %s", terminal.Line(e.Path),
			e.Excluded, e.Corrected, terminal.Short(e.SHA256, 9))
	}
	printSample(t, p)
	if i := slices.IndexFunc(p.Arms, func(a replay.Arm) bool { return a.DaemonEnv != nil }); i >= 0 {
		text.PassedOn(t, p.Arms[i].DaemonEnv) // all arms have the same
	}
	if p.Reader != nil {
		t.Field("actor", "%s %s", p.Reader.Provider, terminal.Line(p.Reader.Model))
	}
	uses, err := p.Contexts()
	if err != nil {
		t.Field("full-context", "%s", terminal.Line(err.Error()))
	}
	for _, use := range uses {
		t.Field("full-context", "%s", wording.Context(use))
	}
	printTrivial(t, p)
	text.Recipes(t, p.Recipes())
	if id := p.JudgeID(); id != nil && len(p.Panel) == 0 {
		t.Field("judge", "%s %s  prompts %s %s", id.Provider, terminal.Line(id.Model),
			terminal.Line(id.PromptVersion), terminal.Short(id.PromptSHA256, 9))
	}
}

// printTrivial prints once for all arms which questions need little retrieval.
func printTrivial(t *terminal.Terminal, p *replay.Plan) {
	said := text.ShownWarnings{}
	for _, a := range p.Arms {
		trivial, err := p.Trivial(a)
		if err != nil {
			t.Field("warning", "%s", terminal.Line(err.Error()))
			return
		}
		for _, w := range said.Add(trivial) {
			t.Field("trivial", "%s", w.Message)
		}
	}
}

func printSample(t *terminal.Terminal, p *replay.Plan) {
	s := p.Drawn
	how := fmt.Sprintf("seed %d", s.Seed)
	switch {
	case s.Listed:
		how = "listed"
	case s.Size == s.Population:
		how = "all"
	}
	parts := []string{fmt.Sprintf("%d of %d (%s)", s.Size, s.Population, how)}
	for _, d := range s.Strata {
		parts = append(parts, fmt.Sprintf("%s %d", terminal.Short(d.Name, 40), d.Sampled))
	}
	form.Field(t, "sample", parts)
	if s.Excluded > 0 {
		t.Field("", "%s left out by --exclude-ids", figure.Count(s.Excluded, "question"))
	}
}

// forecastText formats an amount that lacks models without a price if unpriced is set.
func forecastText(usd llm.USD, unpriced bool) string {
	switch {
	case !unpriced:
		return usd.String()
	case usd == 0:
		return "unknown"
	}
	return usd.String() + " + unknown"
}

// Forecast prints the likely cost of the replay in one line, unless it is free.
func Forecast(t *terminal.Terminal, p *replay.Plan, l ledger.Books) {
	e := p.Estimate()
	for _, model := range e.Unpriced {
		t.Field("warning", "the price of %s is not known, so its cost can neither be estimated nor counted: give --price %[1]s=IN/OUT",
			terminal.Line(model))
	}
	if e.Total.USD[replay.Worst] == 0 && len(e.Unpriced) == 0 && l.Spent() == 0 {
		return
	}
	var parts []string
	for _, phase := range e.Phases {
		parts = append(parts, fmt.Sprintf("%s %s", phase.Phase, forecastText(phase.USD[replay.Likely], phase.Unpriced)))
	}
	unpriced := len(e.Unpriced) > 0
	line := fmt.Sprintf("likely %s (%s)  at most %s  %s", forecastText(e.Total.USD[replay.Likely], unpriced),
		strings.Join(parts, ", "), forecastText(e.Total.USD[replay.Worst], unpriced), capText(l.Cap()))
	if spent := l.Spent(); spent > 0 {
		line += fmt.Sprintf("  spent so far %s", spent)
	}
	t.Field("forecast", "%s  about %s%s", line, minutes(e.Total.Time[replay.Likely]), text.PricesOf(p.PricesDate))
	printCapWarning(t, e, l.Cap())
}

// printCapWarning prints a warning if the cap will probably stop the replay.
func printCapWarning(t *terminal.Terminal, e replay.Estimate, limit *llm.USD) {
	if limit != nil && e.Total.USD[replay.Likely] > *limit {
		t.Field("warning", "the likely cost exceeds the cap: raise --max-cost-usd, or reduce --sample-size")
	}
}

func capText(limit *llm.USD) string {
	if limit == nil {
		return "no cap"
	}
	return "cap " + limit.String()
}

// minutes formats an estimated time.
func minutes(d time.Duration) string {
	switch {
	case d < time.Second:
		return "1 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// Estimate implements --estimate: it prints a table to stderr and its sum to stdout.
func Estimate(t *terminal.Terminal, p *replay.Plan, stdout io.Writer) error {
	e := p.Estimate()
	rows := [][]string{{"phase", "calls", "low", "likely", "worst", "time low", "likely", "worst"}}
	row := func(name, calls string, r replay.Range, unpriced bool) {
		line := []string{name, calls}
		for _, usd := range r.USD {
			line = append(line, forecastText(usd, unpriced))
		}
		for _, d := range r.Time {
			line = append(line, minutes(d))
		}
		rows = append(rows, line)
	}
	for _, phase := range e.Phases {
		row(string(phase.Phase), fmt.Sprint(phase.Calls), phase.Range, phase.Unpriced)
	}
	row("total", "", e.Total, len(e.Unpriced) > 0)
	t.Blank()
	t.Table(rows)
	t.Field("cap", "%s; the worst case has every request at its limits, and no replay exceeds the cap",
		capText(p.Cap))
	printCapWarning(t, e, p.Cap)
	for _, model := range e.Unpriced {
		t.Field("warning", "the price of %s is not known: give --price %[1]s=IN/OUT", terminal.Line(model))
	}
	usd := func(of int) any { // null if it lacks models without a price
		if len(e.Unpriced) > 0 {
			return nil
		}
		return e.Total.USD[of]
	}
	data, err := json.Marshal(map[string]any{
		"low_usd": usd(replay.Low), "likely_usd": usd(replay.Likely),
		"worst_usd": usd(replay.Worst), "low_minutes": e.Total.Time[replay.Low].Minutes(),
		"likely_minutes": e.Total.Time[replay.Likely].Minutes(),
		"worst_minutes":  e.Total.Time[replay.Worst].Minutes(),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n", data)
	return err
}

// Spent prints the cost of all arms together.
func Spent(t *terminal.Terminal, p *replay.Plan, l ledger.Books) {
	if len(p.Arms) > 1 && l.Spent() > 0 {
		t.Field("total", "%s%s", l.Spent(), text.OfCap(l.Cap()))
	}
}
