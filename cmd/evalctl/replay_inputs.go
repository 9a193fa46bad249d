package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/ledger"
)

// replayInputs prints the benchmark, the sample and the models.
func (t *terminal) replayInputs(p *replay.Plan) {
	load := p.Benchmark.Report
	t.field("dataset", "%s  %s  %s in %s  %s  sha256 %s", printable(load.Path, oneLine), load.Format,
		count(load.Questions, "question"), count(load.Haystacks, "haystack"), count(load.Sessions, "session"),
		digest(load.SHA256))
	if len(load.Traps) > 0 {
		var parts []string
		for _, trap := range load.Traps {
			parts = append(parts, fmt.Sprintf("%s %d", trap.Kind, trap.Count))
		}
		t.fieldParts("handled", parts)
	}
	if e := p.Benchmark.Errata; e != nil {
		t.field("errata", "%s  %d excluded  %d corrected  sha256 %s", printable(e.Path, oneLine),
			e.Excluded, e.Corrected, digest(e.SHA256))
	}
	t.sample(p)
	if i := slices.IndexFunc(p.Arms, func(a replay.Arm) bool { return a.DaemonEnv != nil }); i >= 0 {
		t.passedOn(p.Arms[i].DaemonEnv) // all arms have the same
	}
	if p.Reader != nil {
		t.field("actor", "%s %s", p.Reader.Provider, printable(p.Reader.Model, oneLine))
	}
	if p.Judge != nil {
		t.field("judge", "%s %s  prompts %s %s", p.Judge.Provider, printable(p.Judge.Model, oneLine),
			printable(p.Prompts.Name(), oneLine), digest(p.Prompts.SHA256()))
	}
}

func (t *terminal) sample(p *replay.Plan) {
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
		parts = append(parts, fmt.Sprintf("%s %d", short(d.Name, 40), d.Sampled))
	}
	t.fieldParts("sample", parts)
	if s.Excluded > 0 {
		t.field("", "%s left out by --exclude-ids", count(s.Excluded, "question"))
	}
}

// forecastText returns an amount, or what is known of one that lacks models without a price.
func forecastText(usd llm.USD, unpriced bool) string {
	switch {
	case !unpriced:
		return usd.String()
	case usd == 0:
		return "unknown"
	}
	return usd.String() + " + unknown"
}

// forecast prints in one line what the replay is likely to cost, unless it is free.
func (t *terminal) forecast(p *replay.Plan, l ledger.Books) {
	e := p.Estimate()
	for _, model := range e.Unpriced {
		t.field("warning", "the price of %s is not known, so its cost can neither be estimated nor counted: give --price %[1]s=IN/OUT",
			printable(model, oneLine))
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
	t.field("forecast", "%s  about %s%s", line, minutes(e.Total.Time[replay.Likely]), pricesOf(p.PricesDate))
	t.capWarning(e, l.Cap())
}

// capWarning warns of a cap that will probably stop the replay.
func (t *terminal) capWarning(e replay.Estimate, limit *llm.USD) {
	if limit != nil && e.Total.USD[replay.Likely] > *limit {
		t.field("warning", "the likely cost exceeds the cap: raise --max-cost-usd, or reduce --limit")
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

// estimate prints the estimate of --estimate: a table on stderr and its sum on stdout.
func (t *terminal) estimate(p *replay.Plan, out *process) error {
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
	t.blank()
	t.table(rows)
	t.field("cap", "%s; the worst case has every request at its limits, and no replay exceeds the cap",
		capText(p.Cap))
	t.capWarning(e, p.Cap)
	for _, model := range e.Unpriced {
		t.field("warning", "the price of %s is not known: give --price %[1]s=IN/OUT", printable(model, oneLine))
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
	_, err = fmt.Fprintf(out.stdout, "%s\n", data)
	return err
}
