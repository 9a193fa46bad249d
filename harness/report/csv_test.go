package report

import (
	"testing"
)

func TestCSVText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "fact": "fact", "a=b": "a=b", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "' x", "\r=1": "' =1",
	} {
		if got := csvText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
