package display

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"evalctl/harness/ledger"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// Forecast prints the likely cost of the replay in one line, unless it is free.
func Forecast(t *terminal.Terminal, p *replay.Plan, l ledger.Books) {
	var s form.Section
	e := p.Estimate()
	for _, model := range e.Unpriced {
		s.Warn(form.Terminal, "the price of %s is not known, so its cost can neither be estimated nor counted: give --price %[1]s=IN/OUT", form.Path(model))
	}
	if e.Total.USD[replay.Worst] > 0 || len(e.Unpriced) > 0 || l.Spent() > 0 {
		forecast(&s, e, l, p.PricesDate)
	}
	s.Text(t)
}

func forecast(s *form.Section, e replay.Estimate, l ledger.Books, pricesDate string) {
	var phases []string
	for _, phase := range e.Phases {
		phases = append(phases, fmt.Sprintf("%s %s", phase.Phase, amount(phase.USD[replay.Likely], phase.Unpriced)))
	}
	unpriced, spent := len(e.Unpriced) > 0, ""
	if usd := l.Spent(); usd > 0 {
		spent = fmt.Sprintf("  spent so far %s", usd)
	}
	s.Fact("forecast", "likely %s (%s)  at most %s  %s%s  about %s%s", amount(e.Total.USD[replay.Likely], unpriced), form.Join(", ", phases...),
		amount(e.Total.USD[replay.Worst], unpriced), capText(l.Cap()), spent, minutes(e.Total.Time[replay.Likely]), report.PricesOf(pricesDate))
	warnOfCap(s, e, l.Cap())
}

// amount formats an amount that lacks models without a price if unpriced is set.
func amount(usd llm.USD, unpriced bool) string {
	switch {
	case !unpriced:
		return usd.String()
	case usd == 0:
		return "unknown"
	}
	return usd.String() + " + unknown"
}

// warnOfCap adds a warning if the cap will probably stop the replay.
func warnOfCap(s *form.Section, e replay.Estimate, limit *llm.USD) {
	if limit != nil && e.Total.USD[replay.Likely] > *limit {
		s.Warn(form.Terminal, "the likely cost exceeds the cap: raise --max-cost-usd, or reduce --sample-size")
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
	var s form.Section
	e := p.Estimate()
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Terminal, estimateTable(e))
	s.Fact("cap", "%s; the worst case has every request at its limits, and no replay exceeds the cap", capText(p.Cap))
	warnOfCap(&s, e, p.Cap)
	for _, model := range e.Unpriced {
		s.Warn(form.Terminal, "the price of %s is not known: give --price %[1]s=IN/OUT", form.Path(model))
	}
	s.Text(t)
	usd := func(of int) any { // null if it lacks models without a price
		if len(e.Unpriced) > 0 {
			return nil
		}
		return e.Total.USD[of]
	}
	return json.NewEncoder(stdout).Encode(map[string]any{
		"low_usd": usd(replay.Low), "likely_usd": usd(replay.Likely), "worst_usd": usd(replay.Worst),
		"low_minutes":    e.Total.Time[replay.Low].Minutes(),
		"likely_minutes": e.Total.Time[replay.Likely].Minutes(),
		"worst_minutes":  e.Total.Time[replay.Worst].Minutes(),
	})
}

// estimateTable returns the money and the time of each phase, and their sums.
func estimateTable(e replay.Estimate) *form.Table {
	t := form.NewTable(form.Text{}, "phase", ">calls", ">low", ">likely", ">worst", ">time low", ">likely", ">worst")
	row := func(name, calls any, r replay.Range, unpriced bool) {
		cells := []any{name, calls}
		for _, usd := range r.USD {
			cells = append(cells, amount(usd, unpriced))
		}
		for _, d := range r.Time {
			cells = append(cells, minutes(d))
		}
		t.Row(cells...)
	}
	for _, phase := range e.Phases {
		row(phase.Phase, phase.Calls, phase.Range, phase.Unpriced)
	}
	row("total", "", e.Total, len(e.Unpriced) > 0)
	return t
}

// Spent prints the cost of all arms together.
func Spent(t *terminal.Terminal, p *replay.Plan, l ledger.Books) {
	var s form.Section
	if len(p.Arms) > 1 && l.Spent() > 0 {
		s.Fact("total", "%s%s", l.Spent(), report.OfCap(l.Cap()))
	}
	s.Text(t)
}
