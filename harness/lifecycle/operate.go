package lifecycle

import (
	"fmt"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
)

// lacks names what the service is known to lack for a question, before any operation is executed:
// an operation, or a reader for an abstention question. It returns "" if nothing is missing.
func (r *Run) lacks(q dataset.Question) string {
	if slices.Contains(q.Tags, dataset.TagAbstention) && !r.Target.Scenario.Reads() {
		return fmt.Sprintf("%s: the scenario %s has no reader, and passages do not say that something is not known",
			dataset.TagAbstention, r.Target.Scenario)
	}
	for _, o := range q.Before {
		if o.Op == dataset.OpRestart && r.Restart == nil {
			return "restart: evalctl did not start the target, so it cannot restart it"
		}
		if err := target.Needs(r.Target.Service, target.OperationNeeds(o.Op)...); err != nil {
			return fmt.Sprintf("%s: %v", o.Op, err)
		}
		if o.In(q.Brain) != q.Brain {
			if err := target.Needs(r.Target.Service, target.Brains); err != nil {
				return fmt.Sprintf("%s in brain %s: %v", o.Op, o.Brain, err)
			}
		}
	}
	return ""
}
