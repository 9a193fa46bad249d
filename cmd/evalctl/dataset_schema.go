package main

import "evalctl/docs"

type datasetSchemaCmd struct {
	Name string `arg:"" optional:"" enum:"questions,corpus,result,sweep" default:"questions" name:"name" help:"What the schema describes: ${enum} (${default})."`
}

func (datasetSchemaCmd) Help() string {
	return `Prints a JSON Schema: of a line of a dataset, of a line of a corpus, or of the files that run and sweep
write. An editor can check and complete lines with it.

Examples:

  evalctl dataset schema > dataset.schema.json
  evalctl dataset schema corpus
  evalctl dataset schema result
`
}

// Run prints the schema.
func (c *datasetSchemaCmd) Run(p *process) error {
	file := c.Name
	if file == "questions" {
		file = "dataset"
	}
	data, err := docs.Schemas.ReadFile(file + ".schema.json")
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(data)
	return err
}
