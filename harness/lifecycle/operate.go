package lifecycle

import (
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
)

// lacks says which operation of a question the service is known to lack, before any is made. It is
// empty if there is none.
func (r *Run) lacks(q dataset.Question) string {
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
