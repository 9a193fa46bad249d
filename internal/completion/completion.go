// Package completion writes the scripts by which shells complete the command line of evalctl.
package completion

import (
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Command is a command with all that may follow it.
type Command struct {
	Name, Help string
	Args       []string // values of arguments, and further commands
	Flags      []Flag
}

// Flag is a flag of a command. Shells show the first sentence of its help.
type Flag struct {
	Name, Help string
	Values     []string // if there is a list of them
	TakesValue bool
	Path       bool // the value is a file or folder
}

// Write writes the script of a shell: bash, zsh or fish.
func Write(w io.Writer, shell string, commands []Command) error {
	text, ok := scripts[shell]
	if !ok {
		return fmt.Errorf("no completion for the shell %q; there is one for bash, zsh and fish", shell)
	}
	join := func(s []string) string { return strings.Join(s, " ") }
	script := template.New(shell).Funcs(template.FuncMap{"join": join, "sentence": firstSentence})
	return template.Must(script.Parse(text)).Execute(w, commands)
}

// firstSentence returns the first sentence of help without characters that are special to a shell.
func firstSentence(help string) string {
	s, _, _ := strings.Cut(help, ": ")
	s, _, _ = strings.Cut(s, "; ")
	return strings.TrimSuffix(strings.NewReplacer("'", "", "[", "(", "]", ")", "$", "", ":", "").Replace(s), ".")
}

// scripts are the templates of the scripts.
var scripts = map[string]string{
	"bash": `_evalctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{{range .}}{{.Name}} {{end}}' -- "$cur"))
    return
  fi
  case "${COMP_WORDS[1]} $prev" in
{{- range $c := .}}{{range .Flags}}{{if .Values}}
    '{{$c.Name}} --{{.Name}}') COMPREPLY=($(compgen -W '{{join .Values}}' -- "$cur")); return ;;
{{- else if .Path}}
    '{{$c.Name}} --{{.Name}}') COMPREPLY=($(compgen -f -- "$cur")); return ;;
{{- else if .TakesValue}}
    '{{$c.Name}} --{{.Name}}') return ;;
{{- end}}{{end}}{{end}}
  esac
  case "${COMP_WORDS[1]}" in
{{- range .}}
    {{.Name}}) COMPREPLY=($(compgen -W '{{join .Args}} {{range .Flags}}--{{.Name}} {{end}}' -- "$cur")) ;;
{{- end}}
  esac
}
complete -o filenames -F _evalctl evalctl
`,
	"zsh": `#compdef evalctl
_evalctl() {
  if (( CURRENT == 2 )); then
    local -a commands=({{range .}}'{{.Name}}:{{sentence .Help}}' {{end}})
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{{- range .}}
    {{.Name}}) _arguments{{range .Flags}} '--{{.Name}}[{{sentence .Help}}]{{if .Values}}:value:({{join .Values}}){{else if .Path}}:value:_files{{else if .TakesValue}}:value: {{end}}'{{end}}{{if .Args}} '1:value:({{join .Args}})'{{end}} ;;
{{- end}}
  esac
}
if [[ $funcstack[1] = _evalctl ]]; then # loaded from a folder of fpath
  _evalctl "$@"
else
  compdef _evalctl evalctl
fi
`,
	"fish": `complete -c evalctl -f
{{range $c := .}}complete -c evalctl -n __fish_use_subcommand -a {{.Name}} -d '{{sentence .Help}}'
{{range .Args}}complete -c evalctl -n '__fish_seen_subcommand_from {{$c.Name}}' -a {{.}}
{{end}}{{range .Flags}}complete -c evalctl -n '__fish_seen_subcommand_from {{$c.Name}}' -l {{.Name}}{{if .TakesValue}} -r{{end}}{{if .Values}} -a '{{join .Values}}'{{else if .Path}} -F{{end}} -d '{{sentence .Help}}'
{{end}}{{end}}`,
}
