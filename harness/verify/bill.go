package verify

import (
	"errors"
	"io/fs"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// spending compares the total model cost with its parts, with the questions' cost, and with the
// bill.
func (f *figures) spending(want, res *result.Result, rep *Report) {
	file, parts := &res.Cost, res.Cost.Parts
	add := reporter(rep.add)
	add.must((parts == nil) == (file.TotalUSD == nil), ".cost", file.TotalUSD, "total_usd is recorded if its parts are")
	if parts == nil || file.TotalUSD == nil {
		return
	}
	spending(&file.Spending, rep.Path, rep)
	if c := res.CostAccounting; c != nil {
		if sums := c.Parts(); *parts != sums {
			add.differ(".cost.parts", parts, sums)
		}
		return
	}
	// If the process was killed between writing the ledger and the journal, an outcome is missing
	// in one of them.
	least := want.Cost.SpentUSD - want.Cost.MayHaveBeenChargedUSD
	most := want.Cost.SpentUSD.Plus(parts.MayHaveUSD)
	add.must(parts.JudgeUSD >= least && parts.JudgeUSD <= most, ".cost.parts.judge_usd", parts.JudgeUSD,
		"the requests of the questions cost from %v to %v", least, most)
}

// spending checks the spending recorded under cost in the file at path.
func spending(s *result.Spending, path string, rep *Report) {
	add := reporter(rep.add)
	sum := s.Parts.Total()
	add.must(*s.TotalUSD == sum, ".cost", s.TotalUSD, "the parts of total_usd add up to %v", sum)
	add.must(s.Parts.MayHaveUSD <= *s.TotalUSD, ".cost.parts.may_have_been_charged_usd", s.Parts.MayHaveUSD, "it is a part of total_usd")
	if s.Bill == nil {
		if *s.TotalUSD > 0 {
			rep.leaveOut("the payments, which have no bill")
		}
		return
	}
	sums, err := resultfile.SumBill(s.Bill, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		rep.leaveOut("the bill " + s.Bill.File + ", which is not beside the file")
	case err != nil:
		add(Difference{Path: ".cost.bill", Problem: err.Error()})
	case sums != *s.Parts:
		add.differ(".cost.parts", s.Parts, sums)
	}
}
