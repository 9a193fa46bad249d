package main

import (
	"slices"

	"evalctl/harness"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// checkForeign returns an error if the target cannot do what the run needs. m is nil for a daemon that
// speaks the protocol, or if the mapping is not known yet.
func (c *runCmd) checkForeign(m *mapping.Mapping, brains int) error {
	if m == nil {
		return nil
	}
	var others []string
	for flag, given := range map[string]bool{
		"--candidate-k": c.CandidateK > 0, "--rerank-top-n": c.RerankTopN > 0, "--max-per-document": c.MaxPerDocument != nil,
		"--require-mode": c.requiredMode() != "" && m.Lacks(target.Modes) != "",
	} {
		if given {
			others = append(others, flag)
		}
	}
	slices.Sort(others)
	return harness.CheckForeign(m, c.scenario.Name, brains, c.Mode, others...)
}

// checkForeign is that of a run for a sweep.
func (c *sweepCmd) checkForeign(m *mapping.Mapping, brains int) error {
	if m == nil {
		return nil
	}
	for _, mode := range c.Modes {
		if err := harness.CheckForeign(m, result.SearchOnly, brains, mode); err != nil {
			return err
		}
	}
	if !slices.Equal(c.CandidateKs, []int{0}) {
		return harness.CheckForeign(m, result.SearchOnly, brains, "", "--candidate-k")
	}
	return nil
}

// mappingOf returns the mapping of a planned session, nil if there is none or it is not known yet.
func mappingOf(c harness.SessionConfig) *mapping.Mapping {
	if c.Foreign == nil {
		return nil
	}
	return c.Foreign.Mapping
}

// usedMapping returns the mapping of a session, nil for a daemon that speaks the protocol.
func usedMapping(s *harness.Session) *mapping.Mapping {
	if f := s.Foreign(); f != nil {
		return f.Mapping()
	}
	return nil
}

// sameMapping completes what identifies a daemon whose mapping follows from its tools with that of an
// earlier part of the run.
func sameMapping(id, earlier result.DaemonID) result.DaemonID {
	if id.Mapping == "" {
		id.Mapping, id.MappingSHA256 = earlier.Mapping, earlier.MappingSHA256
	}
	return id
}
