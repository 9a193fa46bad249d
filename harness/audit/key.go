package audit

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/visible"
)

// key answers whether the key is wrong.
func (a *Audit) key() Finding {
	f := Finding{
		Command: "evalctl import ANSWERS --as NAME --dataset BENCHMARK --errata ERRATA",
		Cannot:  "Which of these answers are right by the corrected key: only judging them again says so. Errata have the errors that somebody looked for.",
	}
	golds := map[string]map[string]bool{}
	for _, s := range a.Subjects {
		for _, r := range s.Records {
			if r.Reference == "" {
				continue
			}
			id := r.ID + "\x00" + visible.Words(r.Question)
			if golds[id] == nil {
				golds[id] = map[string]bool{}
			}
			golds[id][visible.Words(r.Reference)] = true
		}
		im := s.Result.Imported
		switch {
		case im == nil:
			f.found(Unknown, "%s was not imported.", s.Name)
		case im.Errata != nil:
			e := im.Errata
			f.found(Shown, "%s: errata concern %s; with them the rate is %s, without them %s.", s.Name,
				figure.Count(len(e.OldKey)+len(e.Unknown)+len(e.Excluded), "question"), share{hits: e.All.Passed, n: e.All.Total}, share{hits: e.Without.Passed, n: e.Without.Total})
		case len(im.GoldDiffers) > 0:
			f.found(Shown, "%s: the file has another gold than the dataset for %s.", s.Name, figure.Count(len(im.GoldDiffers), "question"))
		default:
			f.found(Unknown, "%s was imported without errata.", s.Name)
		}
	}
	differ := 0
	for _, texts := range golds {
		if len(texts) > 1 {
			differ++
		}
	}
	if differ > 0 {
		f.found(Shown, "The files have different golds for %s.", figure.Count(differ, "question"))
	}
	return f
}

// adversarial answers whether it matters if category 5 counts.
func (a *Audit) adversarial() Finding {
	f := Finding{
		Header:  []string{"file", "adversarial questions", "with them", "without them"},
		Command: "evalctl show FILE",
		Cannot:  "How a system does on adversarial questions that its authors left out.",
	}
	for _, s := range a.Subjects {
		adversarial, without := s.split(func(r result.Record) bool { return r.Outcome.Counts() }, isAdversarial)
		with, n, unjudged := adversarial.plus(without), adversarial.n, 0
		for _, r := range s.Records {
			if !r.Outcome.Counts() && isAdversarial(r) {
				unjudged++
			}
		}
		typed := slices.ContainsFunc(s.Records, func(r result.Record) bool { return r.Type != "" })
		switch d, ok := with.less(without); {
		case !typed:
			f.found(Unknown, "%s has no types of questions.", s.Name)
			continue
		case n == 0 && unjudged > 0:
			f.found(NotShown, "%s: %s, none of them judged, so that they do not count.", s.Name, figure.Count(unjudged, "adversarial question"))
		case n == 0:
			f.found(NotShown, "%s has no adversarial questions.", s.Name)
		case ok:
			says := NotShown
			if figure.Points(d.value) != figure.Points(0) {
				says = Shown
			}
			f.found(says, "%s: %s count; the rate moves by %s pp.", s.Name, figure.Count(n, "adversarial question"), figure.Points(d.value))
		}
		f.Rows = append(f.Rows, []string{s.Name, fmt.Sprint(n + unjudged), with.String(), without.String()})
	}
	return f
}

func isAdversarial(r result.Record) bool {
	return strings.EqualFold(r.Type, "adversarial") || r.Type == "" && r.JudgeType == "abstention"
}
