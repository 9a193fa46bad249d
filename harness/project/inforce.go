package project

import (
	"cmp"
	"fmt"
	"strings"

	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
)

// The sources of a flag's value.
const (
	FromFlag        = "flag"
	FromEnvironment = "env"
	FromFile        = "file"
	FromDefault     = "default"
)

// masked replaces secrets.
const masked = "****"

// InForce is a flag with its value. A repeatable flag has a list.
type InForce struct {
	Flag  string `json:"flag"`
	Value any    `json:"value"`
	From  string `json:"from"`
	// Variable is set if From is env, File and Line if From is file.
	Variable string `json:"variable,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	// Unused is the ignored setting of the file, nil for none. From is then default.
	Unused *Orphan `json:"unused,omitempty"`
}

// Masked returns the value of a flag, or masked if it is or contains a secret.
func Masked(flag string, value any) any {
	if SecretKey.MatchString(flag) && value != nil && value != "" {
		return masked
	}
	if url, ok := value.(string); ok && postgres.IsURL(url) && postgres.HasPassword(url) {
		return masked
	}
	return value
}

// Text returns the value as written on a command line.
func (f InForce) Text() string {
	switch v := f.Value.(type) {
	case nil:
		return "-"
	case []string:
		return strings.Join(v, "  ")
	case string:
		return cmp.Or(v, "-")
	}
	return fmt.Sprint(f.Value)
}

// Source returns the source of the value: $VARIABLE, FILE:LINE, flag or default.
func (f InForce) Source() string {
	switch f.From {
	case FromEnvironment:
		return "$" + f.Variable
	case FromFile:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if f.Unused != nil {
		return f.From + "; " + f.Unused.Text()
	}
	return f.From
}

// Table formats the flags of a command with their values and sources as a table. file is the
// project file, empty for none.
func Table(command, file string, flags []InForce) string {
	rows := [][]string{{"flag", "value", "from"}}
	for _, f := range flags {
		rows = append(rows, []string{"--" + f.Flag, terminal.Short(f.Text(), 60), terminal.Line(f.Source())})
	}
	return fmt.Sprintf("command %s, project file %s\n\n%s", command, terminal.Line(cmp.Or(file, "none")), terminal.Table(rows, 3))
}
