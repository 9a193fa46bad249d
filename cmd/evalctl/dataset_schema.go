package main

import "evalctl/docs"

type datasetSchemaCmd struct {
	Name string `arg:"" optional:"" enum:"questions,corpus,result,sweep,table" default:"questions" name:"name" help:"What the schema describes: ${enum} (${default})."`
}

func (datasetSchemaCmd) Help() string {
	return `Prints a JSON Schema: of a line of a dataset, of a line of a corpus, of the files that run and sweep
write, or of a row of evalctl report --csv and --parquet. An editor can check and complete lines with it.

Examples:

  evalctl dataset schema > dataset.schema.json
  evalctl dataset schema corpus
  evalctl dataset schema result
  evalctl dataset schema table
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
