package work

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"

	"evalctl/harness/target"
	"evalctl/internal/decimal"
)

// maxMetrics limits how much of a metrics page is read.
const maxMetrics = 16 << 20

// IndexBytes returns the sum of a daemon's metrics whose names end in index_bytes, in the
// Prometheus text format, nil if there are none.
func IndexBytes(ctx context.Context, e *target.Endpoint) *int64 {
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	res, err := e.Do(ctx, target.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var sum *int64
	lines := bufio.NewScanner(io.LimitReader(res.Body, maxMetrics))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if v, err := decimal.Parse(value); err == nil && strings.HasSuffix(name, "index_bytes") && v >= 0 && v < 1<<60 {
			if sum == nil {
				sum = new(int64)
			}
			*sum += int64(v)
		}
	}
	return sum
}
