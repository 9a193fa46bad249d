package retry

import (
	"context"
	"errors"
	"math"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var noon = time.Date(2026, 3, 21, 12, 0, 0, 0, time.UTC)

func TestAfter(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   time.Duration
		ok     bool
	}{
		{"0", 0, true},
		{"7", 7 * time.Second, true},
		{"007", 7 * time.Second, true},
		{"31536000", longest, true},
		{"31536001", longest, true},
		{"18446744073709551615", longest, true},
		{"18446744073709551616", longest, true},
		{strings.Repeat("9", 400), longest, true},
		{"Sat, 21 Mar 2026 12:00:09 GMT", 9 * time.Second, true},
		{"Saturday, 21-Mar-26 12:00:09 GMT", 9 * time.Second, true},
		{"Sat Mar 21 12:00:09 2026", 9 * time.Second, true},
		{"Sat, 21 Mar 2026 12:00:00 GMT", 0, true},
		{"Sat, 21 Mar 2026 11:00:00 GMT", 0, true},
		{"Mon, 01 Jan 0001 00:00:00 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", longest, true},
		{"Sat, 21 Mar 2026 12:00:09 CET", 0, false},
		{"2026-03-21T12:00:09Z", 0, false},
		{"", 0, false},
		{" ", 0, false},
		{"-1", 0, false},
		{"-0", 0, false},
		{"+7", 0, false},
		{"7 ", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"1_000", 0, false},
		{"0x7", 0, false},
		{"1m", 0, false},
		{"soon", 0, false},
		{"٧", 0, false},
		{strings.Repeat("9", 40) + " or so", 0, false},
	} {
		if got, ok := After(tt.header, noon); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %v, %t, want %v, %t", tt.header, got, ok, tt.want, tt.ok)
		}
	}
}

func TestStatus(t *testing.T) {
	again := map[int]bool{429: true, 502: true, 503: true, 504: true}
	for code := range 600 {
		if Status(code) != again[code] {
			t.Errorf("%d: got %t", code, Status(code))
		}
	}
}

// FuzzAfter compares whole seconds with big integers, and everything else with net/http's dates, at
// any current time.
func FuzzAfter(f *testing.F) {
	for _, header := range []string{"", "0", "12", "-3", "1.5", "99999999999999999999", "99999999999999999999x", "Sat, 21 Mar 2026 12:00:09 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(header, noon.Unix())
	}
	f.Add("Mon, 01 Jan 0001 00:00:00 GMT", int64(math.MaxInt32))
	f.Fuzz(func(t *testing.T, header string, unix int64) {
		now := time.Unix(unix%(1<<40), 0)
		got, ok := After(header, now)
		if got < 0 || got > longest || !ok && got != 0 {
			t.Fatalf("%q at %v: %v, %t", header, now, got, ok)
		}
		digits := header != "" && !strings.ContainsFunc(header, func(r rune) bool { return r < '0' || r > '9' })
		at, err := http.ParseTime(header)
		if want := digits || err == nil; ok != want {
			t.Fatalf("%q: ok is %t", header, ok)
		}
		var want time.Duration
		switch {
		case digits:
			n, _ := new(big.Int).SetString(header, 10)
			want = longest
			if n.Cmp(big.NewInt(int64(longest/time.Second))) < 0 {
				want = time.Duration(n.Int64()) * time.Second
			}
		case ok && at.After(now.Add(longest)):
			want = longest
		case ok && at.After(now):
			want = time.Duration(at.Unix()-now.Unix()) * time.Second
		}
		if got != want {
			t.Fatalf("%q at %v: got %v, want %v", header, now, got, want)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("over"))
		defer cancel()
		if err := Sleep(ctx, time.Hour); err == nil || err.Error() != "over" || time.Since(start) != time.Hour+time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
