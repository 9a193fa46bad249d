package distill

import (
	"testing"
	"time"
)

func TestResolveDates(t *testing.T) {
	written := time.Date(2024, 5, 8, 23, 30, 0, 0, time.FixedZone("", -5*3600)) // a Wednesday
	for _, tt := range []struct{ in, out, day string }{
		{"I ran today.", "I ran today (8 May 2024).", "2024-05-08"},
		{"Tonight's show was good.", "Tonight's (8 May 2024) show was good.", "2024-05-08"},
		{"It was the day before yesterday, not yesterday.", "It was the day before yesterday (6 May 2024), not yesterday (7 May 2024).", "2024-05-06"},
		{"See you the day after tomorrow", "See you the day after tomorrow (10 May 2024)", "2024-05-10"},
		{"I slept badly last night.", "I slept badly last night (7 May 2024).", "2024-05-07"},
		{"This morning it rained.", "This morning (8 May 2024) it rained.", "2024-05-08"},
		{"last Wednesday", "last Wednesday (1 May 2024)", "2024-05-01"},
		{"last Tuesday", "last Tuesday (7 May 2024)", "2024-05-07"},
		{"next Wednesday", "next Wednesday (15 May 2024)", "2024-05-15"},
		{"next Tuesday", "next Tuesday (14 May 2024)", "2024-05-14"},
		{"this Friday", "this Friday (10 May 2024)", "2024-05-10"},
		{"last week", "last week (the week of 29 April 2024)", ""},
		{"this weekend", "this weekend (the weekend of 11 May 2024)", ""},
		{"next month", "next month (June 2024)", ""},
		{"last year and next year", "last year (2023) and next year (2025)", ""},
		{"last May, last June, next May, last March", "last May (May 2023), last June (June 2023), next May (May 2025), last March (March 2024)", ""},
		{"three days ago", "three days ago (5 May 2024)", "2024-05-05"},
		{"a day ago", "a day ago (7 May 2024)", "2024-05-07"},
		{"a couple of weeks ago", "a couple of weeks ago (about 24 April 2024)", ""},
		{"a few months ago", "a few months ago (February 2024)", ""},
		{"15 years ago", "15 years ago (2009)", ""},
		{"in two weeks", "in two weeks (about 22 May 2024)", ""},
		{"in 3 days", "in 3 days (11 May 2024)", "2024-05-11"},
		{"three in four days of rain", "three in four days of rain", ""},
		{"on 5 May", "on 5 May (5 May 2024)", "2024-05-05"},
		{"on December 31st", "on December 31st (31 December 2023)", "2023-12-31"},
		{"on the 2nd of June 2021", "on the 2nd of June 2021", "2021-06-02"},
		{"on May 8, 2023", "on May 8, 2023", "2023-05-08"},
		{"on 2023-05-08", "on 2023-05-08", "2023-05-08"},
		{"on 2023-13-08 or 30 February 2023", "on 2023-13-08 or 30 February 2023", ""},
		{"I may 5 times march 3 miles", "I may 5 times march 3 miles", ""},
		{"in May 2020", "in May 2020", ""},
		{"on February 29", "on February 29 (29 February 2024)", "2024-02-29"},
		{"the last straw, next door, in a week of rain, this", "the last straw, next door, in a week of rain, this", ""},
		{"a week ago, in", "a week ago (about 1 May 2024), in", ""},
		{"ago", "ago", ""},
		{"", "", ""},
	} {
		out, day := resolveDates(tt.in, written)
		got := ""
		if !day.IsZero() {
			got = day.Format(time.DateOnly)
		}
		if out != tt.out || got != tt.day {
			t.Errorf("%q: got %q on %q, want %q on %q", tt.in, out, got, tt.out, tt.day)
		}
	}
	for _, in := range []string{"yesterday", "on 5 May", "last week", "two days ago"} {
		if out, day := resolveDates(in, time.Time{}); out != in || !day.IsZero() {
			t.Errorf("%q, of unknown age: got %q, %v", in, out, day)
		}
	}
	if _, day := resolveDates("on 5 May 2020", time.Time{}); day.IsZero() {
		t.Error("a complete date needs no other")
	}
}
