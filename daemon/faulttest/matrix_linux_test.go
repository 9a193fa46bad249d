package faulttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"evalctl/internal/longtest"
)

// fault is a row of the matrix. Its functions may be nil.
type fault struct {
	name string
	// few and many are the rounds of the ordinary run, and those of the long one.
	few, many int
	// folder returns the folder of the store. Default: one in memory.
	folder func(t *testing.T, s string) (folder string, d *device)
	// prepare is called before the first round.
	prepare func(t *testing.T, s *site)
	// strike is called while clients write, before the crash, and mend after it.
	strike, mend func(s *site, round int) error
	// outage reports whether the fault may cause an answer with this status.
	outage func(status int) bool
}

// faults are the rows of the matrix.
var faults = []fault{
	{name: "SIGKILL", few: 2, many: 60},
	{name: "power loss", few: 2, many: 30, folder: onDevice, strike: losePower, mend: restorePower},
	{name: "clock ±1 h", few: 3, many: 18, prepare: setClock, mend: moveClock},
	{name: "full disk", few: 1, many: 10, folder: onSmallDisk, strike: fillDisk, mend: freeDisk, outage: isOutage},
	{name: "read-only disk", few: 1, many: 10, folder: onDevice, strike: refuseWrites, mend: allowWrites, outage: isOutage},
	{name: "damaged header", few: 1, many: 1, mend: damageHeaders},
	{name: "foreign files", few: 2, many: 8, strike: dropFiles, mend: dropFiles},
}

// isOutage is for faults of the disk.
func isOutage(status int) bool {
	return status == http.StatusInsufficientStorage || status == http.StatusInternalServerError
}

// cell is what was found.
type cell struct {
	skipped string
	tries   int
	acked   int64
	lost    int
	broken  int // promises of other kinds
}

func (c *cell) String() string {
	if c.skipped != "" {
		return "skipped: " + c.skipped
	}
	text := fmt.Sprintf("%d / %d / %d", c.tries, c.acked, c.lost)
	if c.broken > 0 {
		text += fmt.Sprintf(", %d others", c.broken)
	}
	return text
}

// TestFaultMatrix lets every fault happen to every store, with a real daemon and real clients. What
// was acknowledged, or a later state, must be there afterwards, and nothing that was deleted.
func TestFaultMatrix(t *testing.T) {
	onlyLong(t)
	cells := map[string]*cell{}
	t.Run("faults", func(t *testing.T) {
		for _, f := range faults {
			for _, store := range stores {
				c := &cell{skipped: "not selected"}
				cells[f.name+store] = c
				t.Run(f.name+"/"+store, func(t *testing.T) {
					t.Parallel()
					c.skipped = "see its log"
					f.test(t, store, c)
				})
			}
		}
	})
	var table strings.Builder
	fmt.Fprintf(&table, "tries / acknowledged writes / lost\n| fault | %s |\n|---|---|---|---|\n", strings.Join(stores, " | "))
	for _, f := range faults {
		fmt.Fprintf(&table, "| %s |", f.name)
		for _, store := range stores {
			fmt.Fprintf(&table, " %v |", cells[f.name+store])
		}
		table.WriteString("\n")
	}
	t.Log(table.String())
}

func (f *fault) test(t *testing.T, store string, c *cell) {
	t.Helper()
	folder, d := f.folderOf(t, store)
	s := newSite(t, store, folder)
	s.device, s.outage = d, f.outage
	if d != nil {
		d.sync() // initdb does not
	}
	if f.prepare != nil {
		f.prepare(t, s)
	}
	c.skipped = ""
	rounds := longtest.Rounds(f.few, f.many)
	c.tries = s.play(rounds, *f) + s.variants
	c.acked, c.lost = s.counts.acknowledged(), s.lost
	c.broken = len(s.broken()) - s.losses
	s.report()
}

func (f *fault) folderOf(t *testing.T, store string) (string, *device) {
	t.Helper()
	if f.folder == nil {
		return openFolder(t, longtest.MemoryDir()), nil
	}
	return f.folder(t, store)
}

func onDevice(t *testing.T, _ string) (string, *device) {
	d := newDevice(t)
	return d.folder, d
}

func onSmallDisk(t *testing.T, _ string) (string, *device) { return smallDisk(t), nil }
