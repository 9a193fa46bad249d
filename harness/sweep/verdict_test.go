package sweep_test

import (
	"errors"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/sweep"
)

func TestVerdict(t *testing.T) {
	allowed, err := result.ParseAllowance("10%")
	if err != nil {
		t.Fatal(err)
	}
	cell := func(errs int) result.Cell {
		return result.Cell{Result: result.Result{Counts: result.Counts{Total: 20, Errors: errs}}}
	}
	unscored := func(n int) result.Cell {
		return result.Cell{Result: result.Result{Counts: result.Counts{Total: 20, Scored: 20 - n, Unscored: n}}}
	}
	for _, tt := range []struct {
		cells []result.Cell
		want  error
		text  string
	}{
		{cells: []result.Cell{cell(0), cell(2)}},
		{[]result.Cell{cell(0), cell(3)}, sweep.ErrLost, "1 of 2 cells have more questions without a score than --max-errors 10% or --max-unscored 10% allows"},
		{[]result.Cell{cell(0), cell(20)}, sweep.ErrLost, "1 of 2 cells have more questions without a score than --max-errors 10% or --max-unscored 10% allows"},
		{[]result.Cell{cell(20), cell(20)}, sweep.ErrNoAnswers, sweep.ErrNoAnswers.Error()},
		{cells: []result.Cell{unscored(0), unscored(2)}},
		{[]result.Cell{unscored(2), unscored(3)}, sweep.ErrLost, "1 of 2 cells have more questions without a score than --max-errors 10% or --max-unscored 10% allows"},
		{[]result.Cell{cell(3), unscored(3)}, sweep.ErrLost, "2 of 2 cells have more questions without a score than --max-errors 10% or --max-unscored 10% allows"},
	} {
		got := sweep.Verdict(result.Sweep{Cells: tt.cells}, allowed, allowed)
		if !errors.Is(got, tt.want) || got != nil && got.Error() != tt.text {
			t.Errorf("%v: got %v, want %v", tt.cells, got, tt.want)
		}
	}
}
