package wording

import (
	"fmt"

	"evalctl/harness/result"
)

// FloorName formats a floor, with its origin if nobody set it explicitly: "floor 0.9, the default".
func FloorName(f result.FloorFrom, floor float64) string {
	switch f {
	case result.FloorNone:
		return "no floor"
	case result.FloorDefault:
		return fmt.Sprintf("floor %v, the default", floor)
	}
	return fmt.Sprintf("floor %v", floor)
}

// Proof says how certain it is that the floor is reached, and what would settle it. It is empty
// without a Proof.
func Proof(g *result.Gate) string {
	if g.Proof == nil {
		return ""
	}
	return proof(g.Proof, g.Floor, g.Total, g.Passed >= g.Required)
}

// Floor compares the pass rate with the floor, such as "46/50 passes the floor 0.9 (needs 45)",
// and says how certain the result is. It is empty without a Proof.
func Floor(g *result.Gate) string {
	return floorText(g.Mode, g.FloorFrom, g.Floor, g.Required, g.Passed, g.Total, g.Proof)
}

// TagFloor is like Floor, for a tag. mode is the mode of the gate.
func TagFloor(t result.TagGate, mode result.FloorMode) string {
	if t.Total == 0 {
		return fmt.Sprintf("no question counts, the floor is %v", t.Floor)
	}
	return floorText(mode, result.FloorGiven, t.Floor, t.Required, t.Passed, t.Total, t.Proof)
}

func floorText(mode result.FloorMode, from result.FloorFrom, floor float64, required, passed, total int, p *result.Proof) string {
	if p == nil {
		return ""
	}
	score, met := fmt.Sprintf("%d/%d", passed, total), mode.Met(passed, required, p)
	name := "the " + FloorName(from, floor)
	needs := fmt.Sprintf(" (needs %d)", required)
	switch {
	case p.Method == result.MethodClustered:
		needs = ""
	case required > total:
		needs = " (no result on so few questions would)"
	}
	bound := over(p)
	switch {
	case mode == result.FloorProven && met:
		return fmt.Sprintf("%s proves %s: the one-sided 95%% lower bound%s, %s, reaches it",
			score, name, bound, decimals(p.Lower, floor))
	case mode == result.FloorProven:
		return fmt.Sprintf("%s does not prove %s%s: the one-sided 95%% lower bound%s, %s, is below it%s",
			score, name, needs, bound, decimals(p.Lower, floor), settling(p))
	case mode == result.FloorNotRefuted && met:
		return fmt.Sprintf("%s does not refute %s%s: the one-sided 95%% upper bound%s, %s, still reaches it",
			score, name, needs, bound, decimals(p.Upper, floor))
	case mode == result.FloorNotRefuted:
		return fmt.Sprintf("%s refutes %s%s: the one-sided 95%% upper bound%s, %s, is below it",
			score, name, needs, bound, decimals(p.Upper, floor))
	}
	word := "misses"
	if met {
		word = "passes"
	}
	return fmt.Sprintf("%s %s %s (needs %d), %s", score, word, name, required, proof(p, floor, total, met))
}
