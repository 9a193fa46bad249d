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

// aloneTurn is a question that an arm is asked while the others are idle.
type aloneTurn struct{ arm, question int }

// aloneTurns returns in which order the arms with a daemon are asked alone. The questions are drawn
// from the sample. Each is a block, in which every daemon is asked once in an order of its own, so
// that what changes with time affects all arms alike. The order depends on the seed of the sample.
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

// alone asks the daemon of an arm while no other arm asks anything.
type alone struct {
	plan  *Plan
	money *gateway.Gates
	asks  *actor.Actor
	pace
}

// ask asks the arm's questions of aloneTurns. It waits until all other arms have finished their own
// questions. stopped is why the arm has not.
//
// The error is the cause of ctx if the caller ended it; a resumed replay asks again. If the daemon
// or its models ended it, the result says so and there is no error.
func (d alone) ask(ctx context.Context, stopped result.Stop) (*result.Alone, error) {
	out := &result.Alone{Request: result.AloneSearch, Planned: d.plan.Alone, Asked: []result.AloneAsked{}}
	if d.plan.Style == actor.Full {
		out.Request = result.AloneAnswer
	}
	if stopped != "" {
		out.Problem = "the arm stopped before its last question: " + string(stopped)
		return out, nil
	}
	first, turns := len(d.plan.Questions), d.plan.aloneTurns() // which follow those of the questions
	for i, turn := range turns {
		if d.plan.Arms[turn.arm].Name != d.arm {
			continue
		}
		err := d.steps.turn(ctx, d.arm, first+i)
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
	// The daemon stays until all have been asked. If that ends early, this arm is complete.
	_ = d.steps.turn(ctx, d.arm, first+len(turns))
	return out, nil
}

// once asks one question and adds it to out. The error says that no further one can be asked.
func (d alone) once(ctx context.Context, question int, out *result.Alone) error {
	q := d.plan.Questions[question].Dataset()
	defer d.money.Enter(ledger.Actor)()
	a, err := d.asks.Request(ctx, q, d.plan.Timeout)
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
