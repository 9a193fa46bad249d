package aggregate

import (
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
