package replay

import (
	"evalctl/harness/plan"
	"evalctl/replay/source"
)

// Spec is a replay as a user describes it. Open finds the benchmark, the arms and the models.
type Spec struct {
	// Config has neither benchmark, arms nor models yet, and the sample has no ids. Its cache is
	// evalctl in the user's cache folder if Dir is empty.
	Config
	// Dataset is the file of the benchmark, which Source says how to read.
	Dataset string
	Source  source.Options
	// IDs and Excluded are files of ids of questions, one on each line, empty for none.
	IDs, Excluded string

	Targets plan.Targets
	// Target names the daemons. Command and Endpoint define the only one, see plan.Targets.FindOne.
	Target            []string
	Command, Endpoint string
	Token             string
	// Port is that of the first daemon, 0 for free ports.
	Port      int
	Baselines []string

	// Answers and Judges are [PROVIDER/]MODEL. Answers judges if Judges is empty.
	Answers, Judges string
	// Recipes are those of a panel of judges, as judging.Recipes takes them, nil for one judge.
	Recipes []string
	// Instructions is a folder with instructions of the judge, empty for those of this program.
	Instructions string
}
