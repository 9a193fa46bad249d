package aggregate

import (
	"fmt"
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// GatePlan says how a gate judges before anything is asked.
type GatePlan struct {
	Operating
	// Separating is nil if no size separates the rates.
	Separating *Separating  `json:"separating"`
	Paired     PairedDesign `json:"paired"`
	Margin     MarginDesign `json:"margin"`
}

// MarginDesign is how often an unchanged daemon passes the gate of a baseline with a margin.
type MarginDesign struct {
	Margin float64 `json:"margin"`
	// Rate is the pass rate of both, Power how often the gate is to pass.
	Rate  float64         `json:"rate"`
	Power float64         `json:"power"`
	Rows  []MarginPassing `json:"rows"`
}

// MarginPassing is what follows from the share of questions whose outcome changes between two runs of
// the same daemon.
type MarginPassing struct {
	Discordant float64 `json:"discordant"`
	// Passes is the probability with N questions, Questions the fewest that pass with the power, nil if
	// none up to 100,000 do.
	Passes    float64 `json:"passes"`
	Questions *int    `json:"questions"`
}

// unchangedPower is how often the gate of a baseline is to pass an unchanged daemon.
const unchangedPower = 0.95

// marginMost is the most questions that a margin is planned for.
const marginMost = 100_000

// unchanged are the shares of questions that change between two runs of one daemon: none of one that
// repeats itself.
var unchanged = []float64{0, 0.02, 0.05, 0.10}

// PlanMargin returns how a margin judges n questions of an unchanged daemon whose pass rate is rate.
// discordant is the share of questions that change between two of its runs, nil for several.
func PlanMargin(n int, margin, rate float64, discordant *float64) MarginDesign {
	d := MarginDesign{Margin: margin, Rate: rate, Power: unchangedPower, Rows: []MarginPassing{}}
	shares := unchanged
	if discordant != nil {
		shares = []float64{*discordant}
	}
	for _, share := range shares {
		passes := stats.NotWorsePower(n, rate, share, margin, baselineConfidence)
		if math.IsNaN(passes) {
			continue // the rate leaves no room for so many changes
		}
		row := MarginPassing{Discordant: share, Passes: passes}
		if least, ok := stats.NotWorseQuestions(rate, share, margin, baselineConfidence, unchangedPower, marginMost); ok {
			row.Questions = &least
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// Separating is the smallest size at which a rate below the floor seldom passes, and one above it
// nearly always does.
type Separating struct {
	N      int        `json:"n"`
	Worse  RatePasses `json:"worse"`
	Better RatePasses `json:"better"`
}

// PairedDesign is the size of a comparison question by question.
type PairedDesign struct {
	Difference float64 `json:"difference"`
	Discordant float64 `json:"discordant"`
	Alpha      float64 `json:"alpha"`
	Power      float64 `json:"power"`
	// Questions show the difference. Detectable is the smallest difference that n questions show, nil
	// if not even one in a single direction is shown.
	Questions  int      `json:"questions"`
	Detectable *float64 `json:"detectable"`
}

// planAlpha is the level of the two-sided test of a comparison.
const planAlpha = 0.05

// defaultDiscordant is the share of discordant questions if nothing is known.
const defaultDiscordant = 0.10

// ParseDiscordant returns the share of questions that only one of two sides passes: the given one, else
// that of independent answers, one side of which passes at the baseline's rate and the other at one
// that is lower by difference, else a usual one. Both texts may be empty.
func ParseDiscordant(given, baseline string, difference float64) (share float64, err error) {
	share = max(defaultDiscordant, difference)
	rate := 0.0
	if baseline != "" {
		if rate, err = result.ParseRate(baseline); err != nil {
			return 0, fmt.Errorf("--baseline-rate %s: %w", baseline, err)
		}
		other := rate - difference
		if other < 0 {
			return 0, fmt.Errorf("--difference %v: no rate is so much below the --baseline-rate %s", difference, baseline)
		}
		share = rate*(1-other) + other*(1-rate)
	}
	if given == "" {
		return share, nil
	}
	if share, err = result.ParseRate(given); err != nil {
		return 0, fmt.Errorf("--discordant %s: %w", given, err)
	}
	if share < difference {
		return 0, fmt.Errorf("--discordant %s: cannot be less than --difference %v, which are questions that only one passes",
			given, difference)
	}
	if fixed := (share - difference) / 2; baseline != "" && (fixed > 1-rate+1e-9 || fixed+difference > rate+1e-9) {
		return 0, fmt.Errorf("--discordant %s: is more than --baseline-rate %s leaves", given, baseline)
	}
	return share, nil
}

// PlanGate returns how a gate with n questions judges, and what a comparison question by question
// shows. discordant is the share of questions that only one of the two passes.
func PlanGate(n int, floor float64, mode result.FloorMode, difference, discordant, power float64) GatePlan {
	plan := GatePlan{Operating: Operate(n, floor, mode), Paired: PairedDesign{
		Difference: difference, Discordant: math.Round(discordant*1e9) / 1e9, Alpha: planAlpha, Power: power,
		Questions: int(stats.McNemarSize(discordant, min(difference, discordant), planAlpha, power)),
	}}
	if size, worse, better, ok := Separates(floor, mode); ok {
		plan.Separating = &Separating{size, worse, better}
	}
	if least := stats.MinDetectable(n, discordant, planAlpha, power); !math.IsNaN(least) {
		plan.Paired.Detectable = &least
	}
	return plan
}
