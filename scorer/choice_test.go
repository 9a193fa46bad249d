package scorer

import "testing"

func TestChoiceOf(t *testing.T) {
	for answer, want := range map[string]string{
		"(b)":                                 "b",
		"b":                                   "b",
		"B.":                                  "b",
		"**C**":                               "c",
		"d) because it is green":              "d",
		"The answer is (a).":                  "a",
		"Answer: b":                           "b",
		"**Answer:** (c)":                     "c",
		"(a) is wrong, so the answer is (b).": "b",
		"I first thought the answer is (a). No: the correct option is (d)": "d",
		"It could be (a) or (b).":       "",
		"I choose option (c), not (a).": "c",
		"I do not know.":                "",
		"A cat is (b) and (b) again":    "b",
		"":                              "",
		"Because a. is":                 "",
	} {
		if got := ChoiceOf(answer); got != want {
			t.Errorf("%q: got %q, want %q", answer, got, want)
		}
	}
}
