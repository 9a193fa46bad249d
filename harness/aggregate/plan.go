package aggregate

import (
	"fmt"
	"math"

	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// GatePlan describes how a gate judges, before anything is asked.
type GatePlan struct {
	FloorDesign
	// Separating is nil if no size separates the rates.
	Separating *SeparatingSize `json:"separating"`
	Paired     PairedDesign    `json:"paired"`
	Margin     MarginDesign    `json:"margin"`
}

// MarginDesign describes how often an unchanged daemon passes a baseline gate with a margin.
type MarginDesign struct {
	Margin float64 `json:"margin"`
	// Rate is the pass rate of both runs, and Power the desired probability of passing.
	Rate  float64     `json:"rate"`
	Power float64     `json:"power"`
	Rows  []MarginRow `json:"rows"`
}

// MarginRow is the outcome for one share of questions that change between two runs of the same
// daemon.
type MarginRow struct {
	Discordant float64 `json:"discordant"`
	// Passes is the probability of passing with N questions. Questions is the smallest number that
	// passes with the desired power, nil if none up to 100,000 does.
	Passes    float64 `json:"passes"`
	Questions *int    `json:"questions"`
}

// unchangedPower is how often a baseline gate should pass an unchanged daemon.
const unchangedPower = 0.95

// marginMost is the largest number of questions considered for a margin.
const marginMost = 100_000

// unchanged are assumed shares of questions that change between two runs of one daemon, 0 for a
// deterministic daemon.
var unchanged = []float64{0, 0.02, 0.05, 0.10}

// PlanMargin returns how a margin judges n questions of an unchanged daemon with pass rate rate.
// discordant is the share of questions that change between its runs, nil for several typical
// shares.
func PlanMargin(n int, margin, rate float64, discordant *float64) MarginDesign {
	d := MarginDesign{Margin: margin, Rate: rate, Power: unchangedPower, Rows: []MarginRow{}}
	shares := unchanged
	if discordant != nil {
		shares = []float64{*discordant}
	}
	for _, share := range shares {
		passes := stats.NotWorsePower(n, rate, share, margin, baselineConfidence)
		if math.IsNaN(passes) {
			continue // the rate leaves no room for so many changes
		}
		row := MarginRow{Discordant: share, Passes: passes}
		if least, ok := stats.NotWorseQuestions(rate, share, margin, baselineConfidence, unchangedPower, marginMost); ok {
			row.Questions = &least
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// SeparatingSize is the smallest size at which a rate below the floor seldom passes and one above
// it nearly always does.
type SeparatingSize struct {
	N      int        `json:"n"`
	Worse  RatePasses `json:"worse"`
	Better RatePasses `json:"better"`
}

// PairedDesign is the size of a paired comparison.
type PairedDesign struct {
	Difference float64 `json:"difference"`
	Discordant float64 `json:"discordant"`
	Alpha      float64 `json:"alpha"`
	Power      float64 `json:"power"`
	// Questions is the number needed to show Difference. Detectable is the smallest difference that
	// n questions show, nil if they cannot show any.
	Questions  int      `json:"questions"`
	Detectable *float64 `json:"detectable"`
}

// planAlpha is the level of a comparison's two-sided test.
const planAlpha = 0.05

// defaultDiscordant is the assumed share of discordant questions.
const defaultDiscordant = 0.10

// ParseDiscordant returns the share of questions that only one side passes: the given share; else
// the share for independent answers at the baseline's rate and a rate lower by difference; else a
// typical share. Both texts may be empty.
func ParseDiscordant(given, baseline string, difference float64) (share float64, err error) {
	share = max(defaultDiscordant, difference)
	rate := 0.0
	if baseline != "" {
		if rate, err = result.ParseRate(baseline); err != nil {
			return 0, fmt.Errorf("--baseline-rate %s: %w", baseline, err)
		}
		other := rate - difference
		if other < 0 {
			return 0, fmt.Errorf("--difference %v: must not be larger than the --baseline-rate, %s", difference, baseline)
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

// PlanGate returns how a gate with n questions judges, and which differences a paired comparison
// shows. discordant is the share of questions that only one side passes.
func PlanGate(n int, floor float64, mode result.FloorMode, difference, discordant, power float64) GatePlan {
	plan := GatePlan{FloorDesign: PlanFloor(n, floor, mode), Paired: PairedDesign{
		Difference: difference, Discordant: math.Round(discordant*1e9) / 1e9, Alpha: planAlpha, Power: power,
		Questions: int(stats.McNemarSize(discordant, min(difference, discordant), planAlpha, power)),
	}}
	if size, worse, better, ok := Separates(floor, mode); ok {
		plan.Separating = &SeparatingSize{size, worse, better}
	}
	if least := stats.MinDetectable(n, discordant, planAlpha, power); !math.IsNaN(least) {
		plan.Paired.Detectable = &least
	}
	return plan
}
