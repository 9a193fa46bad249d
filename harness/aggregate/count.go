package aggregate

import (
	"evalctl/daemon/protocol"
	"evalctl/harness/result"
)

func addTokens(sums *result.TokenSums, u *protocol.Usage) {
	if u != nil {
		sums.InputTokens = result.AddTokens(sums.InputTokens, int64(u.InputTokens))
		sums.OutputTokens = result.AddTokens(sums.OutputTokens, int64(u.OutputTokens))
		sums.Reported++
	}
}

// addLoss counts a question lost at a stage; an empty stage counts nothing.
func addLoss(l *result.Loss, stage result.Stage) {
	switch stage {
	case result.StageRetrieval:
		l.Retrieval++
	case result.StageReader:
		l.Reader++
	case result.StageError:
		l.Errors++
	case result.StageUnscored:
		l.Unscored++
	case result.StageUnknown:
		l.Unknown++
	}
}

// lossIn converts the loss counts of a scenario with a reader to another scenario, as LostAt
// attributes them.
func lossIn(scenario result.Scenario, l result.Loss) result.Loss {
	if !scenario.Reads() {
		l.Unknown, l.Reader = l.Unknown+l.Reader, 0
	}
	return l
}
