package spelling

import "testing"

func TestCamel(t *testing.T) {
	for name, want := range map[string]string{"": "", "id": "id", "brain_id": "brainId", "top_k_of": "topKOf", "end_": "end", "_x": "X"} {
		if got := Camel(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
