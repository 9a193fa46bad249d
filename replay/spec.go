package replay

import (
	"evalctl/harness/plan"
	"evalctl/replay/source"
)

// Spec is a replay as the user describes it. Open finds the benchmark, the arms and the models.
type Spec struct {
	// Config has no benchmark, arms, models or sample ids yet. An empty Cache.Dir means evalctl in
	// the user's cache folder.
	Config
	// Dataset is the benchmark file. Source says how to read it.
	Dataset string
	Source  source.Options
	// IDs and Excluded are files with one question id per line, empty for none.
	IDs, Excluded string

	Targets plan.Targets
	// Target names the daemons. Command and Endpoint define a single one, see plan.Targets.FindOne.
	Target            []string
	Command, Endpoint string
	Token             string
	// Port is the port of the first daemon, 0 for free ports.
	Port      int
	Baselines []string

	// Answers and Judges have the form [PROVIDER/]MODEL. An empty Judges means Answers.
	Answers, Judges string
	// Recipes configure a panel of judges, in the form for judging.Recipes; nil means one judge.
	Recipes []string
	// Instructions is a folder with instructions for the judge, empty for the built-in ones.
	Instructions string
}
