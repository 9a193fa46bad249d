package result_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evalctl/harness/result"
)

func allowance(tb testing.TB, text string) result.Allowance {
	tb.Helper()
	a, err := result.ParseAllowance(text)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		text  string
		total int
		want  int
	}{
		{"0", 50, 0}, {"3", 50, 3}, {"3", 2, 3}, {"0%", 50, 0}, {"10%", 50, 5}, {"10%", 49, 4}, {"10%", 0, 0},
		{"100%", 7, 7}, {"12.5%", 8, 1}, {"12.5%", 7, 0}, {"7%", 100, 7}, {"29%", 100, 29}, {"18.4%", 375, 69},
	} {
		a := allowance(t, c.text)
		if got := a.Of(c.total); got != c.want || a.String() != c.text {
			t.Errorf("%s of %d: got %d, %s", c.text, c.total, got, a)
		}
	}
	for _, text := range []string{"", "many", "-1", "1.5", "101%", "-1%", "NaN%", "%", "10 %", " 3", "1e3"} {
		if a, err := result.ParseAllowance(text); err == nil {
			t.Errorf("%q was parsed as %v", text, a)
		}
	}
	var s result.Settings
	if s.MaxUnscored.String() != "0" || s.MaxUnscored.Of(10) != 0 {
		t.Errorf("the zero value is %s", s.MaxUnscored)
	}
	if err := json.Unmarshal([]byte(`{"max_unscored":"12%"}`), &s); err != nil || s.MaxUnscored.Of(100) != 12 {
		t.Errorf("got %v, %v", s.MaxUnscored, err)
	}
	if data, err := json.Marshal(s); err != nil || !strings.Contains(string(data), `"max_unscored":"12%"`) {
		t.Errorf("got %s, %v", data, err)
	}
	if err := json.Unmarshal([]byte(`{"max_unscored":"few"}`), &s); err == nil {
		t.Error("few is an allowance")
	}
	if s.MaxUnscored.Equal(allowance(t, "12")) || !s.MaxUnscored.Equal(allowance(t, "12%")) {
		t.Error("allowances are compared wrongly")
	}
}
