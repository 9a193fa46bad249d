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
		name, value := sample(lines.Text())
		if v, err := decimal.Parse(value); err == nil && strings.HasSuffix(name, "index_bytes") && v >= 0 && v < 1<<60 {
			if sum == nil {
				sum = new(int64)
			}
			*sum += int64(v)
		}
	}
	if lines.Err() != nil {
		return nil // the sum may lack a metric
	}
	return sum
}

// sample splits a line into the name of a metric and its value. A timestamp may follow.
func sample(line string) (name, value string) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return "", ""
	}
	name, line = line[:end], line[end:]
	if line[0] == '{' { // the labels, whose values may have any character
		line = line[strings.LastIndexByte(line, '}')+1:]
	}
	if fields := strings.Fields(line); len(fields) > 0 {
		value = fields[0]
	}
	return name, value
}
