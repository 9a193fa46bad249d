package main

import (
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"evalctl/harness/target"
)

type completionCmd struct {
	Shell string `arg:"" name:"bash|zsh|fish" enum:"bash,zsh,fish" help:"Shell."`
}

func (completionCmd) Help() string {
	return `Examples:

  source <(evalctl completion bash)
  evalctl completion zsh > "${fpath[1]}/_evalctl"
  evalctl completion fish > ~/.config/fish/completions/evalctl.fish
`
}

// Run generates the script from the grammar of the command line.
func (c *completionCmd) Run(p *process) error {
	commands := completions(grammar(nil))
	help := &commands[slices.IndexFunc(commands, func(c completedCommand) bool { return c.Name == "help" })]
	for _, named := range commands {
		help.Args = append(help.Args, named.Name)
	}
	join := func(s []string) string { return strings.Join(s, " ") }
	script := template.New(c.Shell).Funcs(template.FuncMap{"join": join})
	return template.Must(script.Parse(completionScripts[c.Shell])).Execute(p.stdout, commands)
}

type completedCommand struct {
	Name, Help string
	Args       []string
	Flags      []completedFlag
}

type completedFlag struct {
	Name, Help string
	Values     []string
	TakesValue bool
	Path       bool
}

// pathFlags lists the flags whose value is a file or folder.
var pathFlags = []string{"dataset", "corpus", "output", "resume", "keys", "file", "home", "cache-dir"}

// flagValues returns the possible values of a flag, if there is a list of them. --target and
// --llm-provider are not enums in the grammar, because their own errors say more.
func flagValues(f *kong.Flag) []string {
	switch f.Name {
	case "target":
		return target.SDKs
	}
	return enumValues(f.Value)
}

func completions(parent *kong.Node) []completedCommand {
	var out []completedCommand
	for _, n := range parent.Children {
		if n.Hidden {
			continue
		}
		c := completedCommand{Name: n.Name, Help: firstSentence(n.Help)}
		for _, a := range n.Positional {
			c.Args = append(c.Args, enumValues(a)...)
		}
		for _, f := range n.Flags {
			if f.Name == "help" || f.Hidden {
				continue
			}
			completed := completedFlag{
				Name: f.Name, Help: firstSentence(f.Help), Values: flagValues(f),
				TakesValue: !f.IsBool(), Path: slices.Contains(pathFlags, f.Name),
			}
			if c.Flags = append(c.Flags, completed); slices.Contains(f.Aliases, "sdk") { // not an old name
				completed.Name = "sdk"
				c.Flags = append(c.Flags, completed)
			}
		}
		for _, sub := range completions(n) {
			c.Args = append(c.Args, sub.Name)
			c.Flags = append(c.Flags, sub.Flags...)
		}
		out = append(out, c)
	}
	return out
}

func enumValues(v *kong.Value) []string {
	var out []string
	if t, ok := v.Target.Interface().(scorerText); ok {
		return t.choices()
	}
	for _, e := range v.EnumSlice() {
		if e != "" {
			out = append(out, e)
		}
	}
	return out
}

// firstSentence returns the first sentence of help without characters that are special to a shell.
func firstSentence(help string) string {
	s, _, _ := strings.Cut(help, ": ")
	s, _, _ = strings.Cut(s, "; ")
	return strings.TrimSuffix(strings.NewReplacer("'", "", "[", "(", "]", ")", "$", "", ":", "").Replace(s), ".")
}

// completionScripts are the templates of the scripts.
var completionScripts = map[string]string{
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
    local -a commands=({{range .}}'{{.Name}}:{{.Help}}' {{end}})
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{{- range .}}
    {{.Name}}) _arguments{{range .Flags}} '--{{.Name}}[{{.Help}}]{{if .Values}}:value:({{join .Values}}){{else if .Path}}:value:_files{{else if .TakesValue}}:value: {{end}}'{{end}}{{if .Args}} '1:value:({{join .Args}})'{{end}} ;;
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
{{range $c := .}}complete -c evalctl -n __fish_use_subcommand -a {{.Name}} -d '{{.Help}}'
{{range .Args}}complete -c evalctl -n '__fish_seen_subcommand_from {{$c.Name}}' -a {{.}}
{{end}}{{range .Flags}}complete -c evalctl -n '__fish_seen_subcommand_from {{$c.Name}}' -l {{.Name}}{{if .TakesValue}} -r{{end}}{{if .Values}} -a '{{join .Values}}'{{else if .Path}} -F{{end}} -d '{{.Help}}'
{{end}}{{end}}`,
}
