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

		{"What happened before 2022?", "0001-01-01..2022-01-01"},
		{"What happened until 2022?", "0001-01-01..2023-01-01"},
		{"What happened after 2022?", "2023-01-01..2023-05-25"},
		{"What happened since 2022?", "2022-01-01..2023-05-25"},
		{"What happened since 2024?", ""}, // in the future
		{"What happened after May?", ""},
		{"What happened since March 2023?", "2023-03-01..2023-05-25"},
		{"What happened after 5 March 2023?", "2023-03-06..2023-05-25"},
		{"What happened before March 5th, 2023?", "0001-01-01..2023-03-05"},
		{"What happened before Sunday, the 5th of March 2023?", "0001-01-01..2023-03-05"},
		{"What happened since last March?", "2023-03-01..2023-05-25"},
		{"What happened after the party in 2022?", "2022-01-01..2023-01-08"},
		{"What happened before the party on 5 March 2023?", "2023-03-04..2023-03-13"},
		{"What happened before the end of 2022?", "0001-01-01..2023-01-01"},
		{"What happened after the end of 2022?", "2023-01-01..2023-05-25"},
		{"What happened since the beginning of 2022?", "2022-01-01..2023-05-25"},
		{"What happened before the start of 2022?", "0001-01-01..2022-01-01"},
		{"What happened before mid 2022?", "0001-01-01..2023-01-01"}, // half of it is before
		{"What happened after early 2022?", "2022-01-01..2023-05-25"},
		{"What happened before yesterday?", "0001-01-01..2023-05-23"},
		{"What happened since yesterday?", "2023-05-23..2023-05-25"},
		{"What happened since last Sunday?", "2023-05-21..2023-05-25"},
		{"What happened until last Sunday?", "0001-01-01..2023-05-22"},
		{"What happened before last week?", "0001-01-01..2023-05-15"},
		{"What happened before this year?", "0001-01-01..2023-01-01"},
		{"What happened before this month?", "0001-01-01..2023-05-01"},
		{"What happened before last year?", "0001-01-01..2022-01-01"},
		{"What happened after last year?", "2023-01-01..2023-05-25"},
		{"What happened since last month?", "2023-04-01..2023-05-25"},
		{"What was the best day since March 2022?", "2022-03-01..2023-05-25"},
		{"What happened before two weeks ago?", "0001-01-01..2023-05-06"},
		{"What happened from March 2022 until May 2022?", "2022-03-01..2022-06-01"},
		{"What happened after March 2022 and before June 2022?", "2022-04-01..2022-06-01"},
		{"What happened before June 2022 but since March 2022?", "2022-03-01..2022-06-01"},
		{"What happened before 2020 or after 2022?", "0001-01-01..2020-01-01 2023-01-01..2023-05-25"},
		{"What happened the day before 5 March 2023?", "2023-03-04..2023-03-13"},
		{"What happened two weeks after 5 March 2023?", "2023-03-04..2023-03-13"},
		{"What happened a couple of days after 5 March 2023?", "2023-03-04..2023-03-13"},
		{"What happened after 2022-03-05?", "2022-03-06..2023-05-25"},
		{"What happened on 2022-03-05?", "2022-03-04..2022-03-13"},
		{"2022-03-05 cake", "2022-03-04..2022-03-13"},
		{"What is new in release 2022.1.2?", ""},
		{"What is new in release 2022.10.12?", ""},
		{"2023-05-12-004", ""},
		{"2024-01-15-notes.md", ""},
		{"What happened on 5 March 2023 10:30?", "2023-03-04..2023-03-13"},
		{"What happened in the years before 2022?", "0001-01-01..2022-01-01"},
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
	for _, question := range []string{"in May 2022", "2022-05-05"} {
		if got := Periods(question, time.Time{}); len(got) != 1 {
			t.Errorf("%q needs no time: %v", question, got)
		}
	}
	if !OnlyTime("What happened on 2022-03-05?") || OnlyTime("2022-03-05 cake") {
		t.Error("a day in digits is not read as a time alone")
	}
	later := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := Periods("since 2022", time.Time{}); len(got) != 1 || !got[0].Contains(later) || got[0].Contains(asOf.AddDate(-2, 0, 0)) {
		t.Errorf("without a time, what is since a year has no end: %v", got)
	}
	zone := time.FixedZone("", -8*60*60)
	if got := Periods("before 2022", asOf.In(zone)); len(got) != 1 || !got[0].Contains(time.Date(2021, 12, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("dates are compared as they are written: %v", got)
	}
}

// Every period of any question begins before it ends.
func FuzzPeriods(f *testing.F) {
	for _, q := range []string{"on 31 February 2023", "in May of 1999", "999 years ago", "last 12 months", "the last", "5 of may", "ago", "since 2099 until 1900", "the week before last week", "999 years before the 1st of may 1900"} {
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
