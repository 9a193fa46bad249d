package replay

import (
	"context"
	"errors"
	"math/rand/v2"

	"evalctl/harness"
	"evalctl/harness/gateway"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
)

// The requests that a daemon is asked alone.
const (
	aloneSearch = "search" // the daemon's part of an answer that evalctl's reader writes
	aloneAnswer = "answer" // the daemon's own answer
)

// aloneTurn is one question to one arm while the others are idle.
type aloneTurn struct{ arm, question int }

// aloneTurns returns the order in which the arms with a daemon are asked alone. Questions are drawn
// from the sample. For each question, all daemons are asked in random order before the next
// question, so that changes over time affect all arms alike. The order depends on the sample's
// seed.
func (p *Plan) aloneTurns() []aloneTurn {
	random := rand.New(rand.NewPCG(p.Drawn.Seed, 1))
	var turns []aloneTurn
	for _, q := range random.Perm(len(p.Questions))[:p.Alone] {
		for _, arm := range random.Perm(len(p.Arms)) {
			if p.Arms[arm].hasDaemon() {
				turns = append(turns, aloneTurn{arm, q})
			}
		}
	}
	return turns
}

// aloneAsker asks an arm's daemon while no other arm asks anything.
type aloneAsker struct {
	plan  *Plan
	money *gateway.Gates
	actor *actor.Actor
	pace
}

// ask asks the arm's questions of aloneTurns after all other arms have finished their own. If
// stopped is not empty, the arm itself did not finish, and nothing is asked.
//
// If the caller ends ctx, ask returns its cause, and a resumed replay asks again. If the daemon or
// its models fail, the result says so and the error is nil.
func (d aloneAsker) ask(ctx context.Context, stopped result.Stop) (*result.Alone, error) {
	out := &result.Alone{Request: aloneSearch, Planned: d.plan.Alone, Asked: []result.AloneAsked{}}
	if d.plan.Style == actor.Full {
		out.Request = aloneAnswer
	}
	if stopped != "" {
		out.Problem = "the arm stopped before its last question: " + string(stopped)
		return out, nil
	}
	first, turns := len(d.plan.Questions), d.plan.aloneTurns() // after the questions of the lockstep
	for i, turn := range turns {
		if d.plan.Arms[turn.arm].Name != d.arm {
			continue
		}
		err := d.lockstep.turn(ctx, d.arm, first+i)
		if err == nil {
			err = d.once(ctx, turn.question, out)
		}
		switch {
		case err == nil:
		case errors.Is(err, harness.ErrDaemonDied), errors.Is(err, llm.ErrBudgetExceeded), errors.Is(err, llm.ErrNotCached), ctx.Err() == nil:
			out.Problem = err.Error()
			return out, nil
		default:
			return nil, err
		}
	}
	// The daemon must stay until all arms have been asked. If ctx ends before, this arm is
	// complete.
	_ = d.lockstep.turn(ctx, d.arm, first+len(turns))
	return out, nil
}

// once asks one question and adds it to out. An error means that no further question can be asked.
func (d aloneAsker) once(ctx context.Context, question int, out *result.Alone) error {
	q := d.plan.Questions[question].Dataset()
	defer d.money.Enter(ledger.Actor)()
	a, err := d.actor.Request(ctx, q, d.plan.Timeout)
	if refused := d.money.Err(); refused != nil {
		return refused
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	asked := result.AloneAsked{ID: q.ID, LatencyMS: float64(a.Latency.Microseconds()) / 1000}
	if f, failed := target.AsFailure(err); failed {
		asked.Error = f.Message
	} else if err != nil {
		return err
	}
	out.Asked = append(out.Asked, asked)
	return nil
}
