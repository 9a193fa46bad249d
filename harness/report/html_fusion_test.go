package report_test

import (
	"strings"
	"testing"
)

// TestFusion checks that the page has the fusions of the run and of a question, escaped.
func TestFusion(t *testing.T) {
	c := contentOf(3)
	c.Result.Fusions = map[string]int{"score 0.2": 2, "<b>\x1b 7": 1}
	c.Questions[0].Fusion = "<i> 9"
	text := write(t, c)
	for _, want := range []string{"· fusion &lt;b&gt;", " 7 ×1 · fusion score 0.2 ×2", "bm25 (fusion &lt;i&gt; 9) m"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<i> 9") || strings.Contains(text, "\x1b") {
		t.Error("the page has the fusion unescaped")
	}
}
