package httpapi

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes a table of the keys, without their hashes. used has their last uses, see LastUses.
func (k *Keys) Print(w io.Writer, used map[string]KeyTime, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTENANT\tBRAINS\tROLES\tSCOPES\tRATE\tSTATUS\tCREATED\tEXPIRES\tLAST USE\tID")
	for _, k := range k.List() {
		rate := "-"
		if k.Rate != nil {
			rate = fmt.Sprintf("%v/s, burst %d", k.Rate.PerSecond, k.Rate.Burst)
		}
		fmt.Fprintln(table, strings.Join([]string{
			k.Name, k.Tenant, commas(k.Brains), commas(k.Roles), commas(k.Scopes), rate,
			k.Status(now), k.Created.orDash(), k.Expires.orDash(), used[k.ID()].orDash(), k.ID(),
		}, "\t"))
	}
	return table.Flush()
}

func (t KeyTime) orDash() string {
	if t.IsZero() {
		return "-"
	}
	return t.String()
}

func commas(list []string) string { return cmp.Or(strings.Join(list, ","), "-") }
