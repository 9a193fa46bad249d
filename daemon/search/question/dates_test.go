package question

import (
	"strings"
	"testing"
	"time"
)

func TestPeriods(t *testing.T) {
	asOf := time.Date(2023, 5, 24, 18, 30, 0, 0, time.UTC) // a Wednesday
	tests := []struct{ question, want string }{
		{"Where did we go?", ""},
		{"What happened on 5 March 2023?", "2023-03-04..2023-03-13"},
		{"What happened on the 5th of March, 2023?", "2023-03-04..2023-03-13"},
		{"What happened on March 5th?", "2023-03-04..2023-03-13"},
		{"What happened on 5 July?", "2022-07-04..2022-07-13"},
		{"What happened on 24 May?", "2023-05-23..2023-06-01"},
		{"What happened on 25 May?", "2022-05-24..2022-06-02"},
		{"Where was I in May?", "2023-05-01..2023-06-08"},
		{"Where was I in December 2021?", "2021-12-01..2022-01-08"},
		{"May I march in?", ""},
		{"What did I do during 2022?", "2022-01-01..2023-01-08"},
		{"Did I earn 2022 dollars?", ""},
		{"Whom did I meet two weeks ago?", "2023-05-06..2023-05-15"},
		{"Whom did I meet a couple of days ago?", "2023-05-21..2023-05-24"},
		{"What broke 3 months ago?", "2023-02-09..2023-03-12"},
		{"What broke a year ago?", "2021-11-22..2022-11-24"},
		{"What did I cook last Sunday?", "2023-05-21..2023-05-23"},
		{"What did I cook last Wednesday?", "2023-05-17..2023-05-19"},
		{"What did I cook this Wednesday?", "2023-05-24..2023-05-26"},
		{"What did I read in the past three months?", "2023-02-09..2023-05-25"},
		{"What did I read last week?", "2023-05-13..2023-05-25"},
		{"What did I say yesterday?", "2023-05-23..2023-05-25"},
		{"The last of five ago, in of last 99999999999999999999 days ago", ""},
		{"What came first, March 2022 or May 2022?", "2022-03-01..2022-04-08 2022-05-01..2022-06-08"},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range Periods(tt.question, asOf) {
			got = append(got, p.From.Format(time.DateOnly)+".."+p.To.Format(time.DateOnly))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %v, want %v", tt.question, got, tt.want)
		}
	}
	for _, question := range []string{"in May", "two weeks ago", "last Sunday", "yesterday"} {
		if got := Periods(question, time.Time{}); len(got) != 0 {
			t.Errorf("%q asked at no time: %v", question, got)
		}
	}
	if got := Periods("in May 2022", time.Time{}); len(got) != 1 {
		t.Errorf("a full date needs no time: %v", got)
	}
}

// Every period of any question begins before it ends.
func FuzzPeriods(f *testing.F) {
	for _, q := range []string{"on 31 February 2023", "in May of 1999", "999 years ago", "last 12 months", "the last", "5 of may", "ago"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, question string) {
		for _, p := range Periods(question, time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)) {
			if !p.From.Before(p.To) {
				t.Errorf("%q: from %v to %v", question, p.From, p.To)
			}
		}
	})
}
