package mapping

import (
	"context"
	"fmt"
	"net/http"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/figure"
)

// refusedCall reports whether a call failed without an effect: the service has refused it, says
// that it failed, or was not reached.
func refusedCall(err error) bool {
	f, ok := target.AsFailure(err)
	return ok && (f.Kind == result.KindDaemon || f.Unreachable() || f.Status/100 == 4 ||
		f.Status == http.StatusServiceUnavailable || f.Status == http.StatusNotImplemented)
}

// doubt records texts that may be stored, without an answer that says so. They are deleted by the
// sent ids. Ids that the service gives are unknown. A load test does not record such texts: it cuts
// its requests, and would often end with an error.
func (b *brain) doubt(ctx context.Context, o *operation, c call) {
	if !o.givesIDs() {
		_ = b.keep(o, c, nil) // fails only for given ids
		return
	}
	if !target.Retries(ctx) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range c.texts {
		b.unsure = append(b.unsure, t.path)
	}
}

// doubts returns the error for texts that may still be stored under unknown ids, nil if there are
// none.
func (b *brain) doubts() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unsure) == 0 {
		return nil
	}
	return fmt.Errorf("%s may still be stored, such as that of %q, because the service did not say whether it was written",
		figure.Count(len(b.unsure), "text"), b.unsure[0])
}
