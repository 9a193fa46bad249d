package main

import (
	"testing"

	"evalctl/harness/result"
)

func TestSweepVerdict(t *testing.T) {
	c := sweepCmd{}
	c.MaxErrors = "10%"
	var err error
	if c.errors, err = result.ParseAllowance(c.MaxErrors); err != nil {
		t.Fatal(err)
	}
	cell := func(errs int) result.Cell {
		return result.Cell{Result: result.Result{Counts: result.Counts{Total: 20, Errors: errs}}}
	}
	for _, tt := range []struct {
		cells []result.Cell
		code  int
	}{
		{[]result.Cell{cell(0), cell(2)}, exitDone},
		{[]result.Cell{cell(0), cell(3)}, exitUnscored},
		{[]result.Cell{cell(0), cell(20)}, exitUnscored},
		{[]result.Cell{cell(20), cell(20)}, exitDaemon},
	} {
		if got := exitCode(t.Context(), c.verdict(result.Sweep{Cells: tt.cells}, nil)); got != tt.code {
			t.Errorf("%v: got %d, want %d", tt.cells, got, tt.code)
		}
	}
}
