package main

import "evalctl/docs"

type datasetSchemaCmd struct {
	Name string `arg:"" optional:"" enum:"questions,corpus,result,sweep,bench,table" default:"questions" name:"name" help:"What the schema describes: ${enum} (${default})."`
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
