package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"evalctl/harness/aggregate"
)

// PlanCSV writes a row for each true rate.
func PlanCSV(w io.Writer, o aggregate.GatePlan) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"n", "floor", "floor_mode", "required", "true_rate", "passes"}) // Error reports it
	for _, p := range o.Passes {
		_ = out.Write([]string{
			strconv.Itoa(o.N), fmt.Sprint(o.Floor), string(o.Mode), strconv.Itoa(o.Required), fmt.Sprint(p.Rate), strconv.FormatFloat(p.Passes, 'f', 6, 64),
		})
	}
	out.Flush()
	return out.Error()
}
