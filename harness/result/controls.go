package result

import "evalctl/internal/stats"

// Controls are the verdicts on answers known to be right or wrong.
type Controls struct {
	Right       int `json:"right"`
	RightPassed int `json:"right_passed"`
	Wrong       int `json:"wrong"`
	WrongFailed int `json:"wrong_failed"`
	Unscored    int `json:"unscored"`
	// FalsePositiveRate is the share of judged wrong answers that passed, FalseNegativeRate the
	// share of judged right answers that failed; nil without such answers.
	FalsePositiveRate *float64 `json:"false_positive_rate"`
	FalseNegativeRate *float64 `json:"false_negative_rate"`
	// Failed are the misjudged controls, Unjudged the controls without a verdict, with the reason.
	Failed   []FailedControl `json:"failed"`
	Unjudged []FailedControl `json:"unjudged,omitzero"`
}

// FailedControl is a control that was misjudged or not judged.
type FailedControl struct {
	ID     string `json:"id"`   // of the question
	Kind   string `json:"kind"` // reference, other_answer, empty, i_dont_know, vague
	Answer string `json:"answer"`
	Reason string `json:"reason,omitempty"`
}

// ControlReference is the kind of right controls, which are references.
const ControlReference = "reference"

const (
	// usableAccuracy is the share of the controls of a kind that a usable scorer judges correctly.
	// It is high, because real answers are harder than controls.
	usableAccuracy = 0.95
	// refuted is the confidence with which controls must show a lower accuracy. Of 14 controls of a
	// kind, 2 may be misjudged: a usable scorer misjudges 3 with a probability of at most 0.03.
	refuted = 0.95
	// judgedShare is the share of the controls of a kind that must be judged: 11 of 14 wrong ones.
	// A scorer that passes one wrong answer in five fails all 11 with a probability of 0.09, and
	// all 14 with a probability of 0.04 (statistics.md B.7).
	judgedShare = 0.75
)

// Judged returns the numbers of right and wrong controls with a verdict.
func (c *Controls) Judged() (right, wrong int) {
	right, wrong = c.Right, c.Wrong
	for _, u := range c.Unjudged {
		if u.Kind == ControlReference {
			right--
		} else {
			wrong--
		}
	}
	return right, wrong
}

// Count computes counts and rates from Right, Wrong and the lists.
func (c *Controls) Count() {
	c.Unscored = len(c.Unjudged)
	right, wrong := c.Judged()
	c.RightPassed, c.WrongFailed = right, wrong
	for _, f := range c.Failed {
		if f.Kind == ControlReference {
			c.RightPassed--
		} else {
			c.WrongFailed--
		}
	}
	c.FalseNegativeRate = shareOf(right-c.RightPassed, right)
	c.FalsePositiveRate = shareOf(wrong-c.WrongFailed, wrong)
}

func shareOf(n, of int) *float64 {
	if of == 0 {
		return nil
	}
	return new(float64(n) / float64(of))
}

// Valid reports whether the scorer may be usable: neither the right nor the wrong controls show,
// with an exact test at 0.05, that it misjudges more than one in 20 of them.
func (c *Controls) Valid() bool {
	if c == nil {
		return true
	}
	right, wrong := c.Judged()
	return c.RightPassed >= stats.RequiredNotRefuted(right, usableAccuracy, refuted) &&
		c.WrongFailed >= stats.RequiredNotRefuted(wrong, usableAccuracy, refuted)
}

// Enough reports whether enough controls have a verdict to check the scorer: three quarters of the
// right and of the wrong ones.
func (c *Controls) Enough() bool {
	if c == nil {
		return true
	}
	right, wrong := c.Judged()
	return float64(right) >= judgedShare*float64(c.Right) && float64(wrong) >= judgedShare*float64(c.Wrong)
}
