package report

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"evalctl/harness/result"
	"evalctl/internal/goldentest"
)

// openMetrics returns the samples of a document by their names and labels, as Prometheus reads
// them.
func openMetrics(t *testing.T, d Document) map[string]float64 {
	t.Helper()
	var b strings.Builder
	if err := Metrics(&b, d); err != nil {
		t.Fatal(err)
	}
	samples, units := map[string]float64{}, map[string]string{}
	p := textparse.NewOpenMetricsParser([]byte(b.String()), labels.NewSymbolTable())
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		switch entry {
		case textparse.EntryUnit:
			name, unit := p.Unit()
			units[string(name)] = string(unit)
		case textparse.EntrySeries:
			var l labels.Labels
			p.Metric(&l)
			_, at, value := p.Series()
			if at != nil {
				t.Errorf("%s has a time", l)
			}
			if _, twice := samples[l.String()]; twice {
				t.Errorf("%s is there twice", l)
			}
			samples[l.String()] = value
		}
	}
	if !strings.HasSuffix(b.String(), "\n# EOF\n") || len(units) == 0 {
		t.Errorf("the file has the units %v and ends in %q", units, b.String()[max(0, b.Len()-20):])
	}
	// Collectors of text files read the older format, in which UNIT and EOF are comments.
	parser := expfmt.NewTextParser(model.LegacyValidation)
	old, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil || old["evalctl_latency_seconds"] != nil && len(old["evalctl_latency_seconds"].Metric[0].Summary.Quantile) == 0 {
		t.Errorf("in the older format: %v, %v", err, old["evalctl_latency_seconds"])
	}
	for _, m := range old["evalctl_latency_seconds"].GetMetric() { // a collector takes a missing sum for 0
		if s := m.Summary; s.SampleSum == nil || s.GetSampleSum() < float64(s.GetSampleCount())*0.2 {
			t.Errorf("the latencies add up to %v", s)
		}
	}
	return samples
}

// TestMetrics compares the metrics of several arms, one without a result.
func TestMetrics(t *testing.T) {
	run := runOf(60)
	run.Result.Retrieval = &result.Retrieval{Macro: result.Metrics{"recall@5": 0.9, "mrr": 0.7, "ndcg@5": 0.85}}
	run.Result.Identity.Dataset.Path = "C:\\data\\a\"b\n{x}.jsonl"
	d := Replay{Arms: Arms{{Name: "go", Run: run}, {Name: "py", Problem: "no such file"}, {Name: "ts", Run: runOf(5)}}}
	samples := openMetrics(t, d)
	states := 0.0
	for name, value := range samples {
		if strings.HasPrefix(name, `{__name__="evalctl_questions"`) && strings.Contains(name, `target="go"`) {
			states += value
		}
	}
	if states != 60 {
		t.Errorf("the states add up to %v of 60 questions", states)
	}
	for _, want := range []string{
		`{__name__="evalctl_verdict", target="py", verdict="no_result"}`,
		`{__name__="evalctl_verdict", dataset="a\"b\n{x}.jsonl", scenario="ask-basic", target="go", verdict="pass"}`,
	} {
		if samples[want] != 1 {
			t.Errorf("no sample %s in %v", want, samples)
		}
	}
	var b strings.Builder
	if err := Metrics(&b, d); err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "testdata/arms.prom", b.String())
}

// TestMetricsWithoutScore checks that a run that has no score has no rate: 0 would look like one.
func TestMetricsWithoutScore(t *testing.T) {
	run := runOf(10)
	for i := range run.Questions {
		r := &run.Questions[i]
		r.Score, r.Passed, r.Outcome = nil, false, result.Unscored
	}
	run.fill()
	for name := range maps.Keys(openMetrics(t, run)) {
		if strings.Contains(name, "pass_rate") {
			t.Errorf("%s is a rate of nothing", name)
		}
	}
	if err := Metrics(io.Discard, Conformance{}); err == nil {
		t.Error("a report of conformance has metrics")
	}
}
