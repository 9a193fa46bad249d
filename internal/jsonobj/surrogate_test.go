package jsonobj

import "testing"

func TestHalfSurrogate(t *testing.T) {
	for text, want := range map[string]bool{
		`"a"`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00x"`: false, `"\\ud800"`: false,
		`"\n\u0000\u00e9"`: false, `{"a":"\\\\","b":["\ud83d\ude00"]}`: false,
		`"\ud800"`: true, `"\ude00"`: true, `"\ud83d\ud83d\ude00"`: true, `{"a":"\\\ud800x"}`: true,
		`"\ud83dx\ude00"`: true,
	} {
		if got := HalfSurrogate([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
