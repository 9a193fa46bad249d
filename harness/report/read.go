package report

import (
	"encoding/json"
	"fmt"
	"os"

	"evalctl/harness/bench/record"
	"evalctl/harness/conformance"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// maxConformance limits a report of conformance, in bytes.
const maxConformance = 64 << 20

// Read reads a result file like ReadRun, the file of a bench or a sweep, or a report of conformance
// in JSON. For any other file, it returns the error of reading it as a result.
func Read(path string) (Document, error) {
	run, err := ReadRun(path)
	if err == nil {
		return run, nil
	}
	switch resultfile.KindOf(path) {
	case resultfile.Sweep:
		return readSweep(path)
	case resultfile.Bench:
		f, err := record.Read(path)
		if err != nil {
			return nil, err
		}
		return NewBench(f, path), nil
	}
	if c := readConformance(path); c != nil {
		return *c, c.check(path)
	}
	return nil, err
}

// ReadArm reads the result file of an arm, if it has one. problem is why the arm ended early. An
// unreadable result is also a problem of the arm.
func ReadArm(name, path string, problem error) Arm {
	arm := Arm{Name: name}
	if problem != nil {
		arm.Problem = problem.Error()
	}
	if path == "" {
		return arm
	}
	run, err := ReadRun(path)
	if arm.Run = run; err != nil && problem != nil {
		arm.Problem += "; " + err.Error()
	} else if err != nil {
		arm.Problem = err.Error()
	}
	return arm
}

// readConformance returns nil if a file is not a report of conformance.
func readConformance(path string) *Conformance {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConformance {
		return nil
	}
	data, err := inputfile.Read(path, maxConformance)
	if err != nil {
		return nil
	}
	var keys struct{ Endpoint, Results json.RawMessage }
	if json.Unmarshal(data, &keys) != nil || keys.Endpoint == nil || keys.Results == nil {
		return nil
	}
	var c Conformance
	if json.Unmarshal(data, &c) != nil {
		return nil
	}
	return new(Conformance(c.report().WithFindings()))
}

// check rejects a report with unknown verdicts: they would count as neither kept nor broken.
func (c Conformance) check(path string) error {
	if len(c.Results) == 0 {
		return fmt.Errorf("%s: the report of conformance has no checks", path)
	}
	for _, r := range c.Results {
		switch {
		case r.Verdict != conformance.Kept && r.Verdict != conformance.Broken && r.Verdict != conformance.NotJudged:
			return fmt.Errorf("%s: check %q has the verdict %q, which evalctl conformance does not write", path, r.ID, r.Verdict)
		case r.Level != conformance.Must && r.Level != conformance.Should:
			return fmt.Errorf("%s: check %q has the level %q, which evalctl conformance does not write", path, r.ID, r.Level)
		}
	}
	return nil
}
