package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
)

// What a flag has, which is the same in all commands that have the flag.
const (
	meaningOf = "meaning"
	unitOf    = "unit"
	defaultOf = "default"
	valuesOf  = "values"
)

// exception is what a flag has in some commands and not in the others.
type exception struct {
	flag, what string
	in         map[string]string // by command
	reason     string
}

var exceptions = []exception{
	{"floor", defaultOf, map[string]string{"replay": "none"}, "the specification gives run a floor of 0.90 (4.4), and replay none"},
	{"max-cost-usd", defaultOf, map[string]string{"replay": "20", "judge check": "20"}, "the specification gives a replay 20 dollars (8), and a run what SVC_EVAL_BUDGET_USD says (4.4)"},
	{"concurrency", defaultOf, map[string]string{"replay": "16", "serve worker": "16"}, "the specification gives replay 16 (8)"},
	{"concurrency", defaultOf, map[string]string{"bench": "8"}, "the load that is measured; a bench with --rate has none"},
	{"top-k", defaultOf, map[string]string{"replay": "10", "bench": "10", "import": "10"}, "the specification gives run 5 (4.4) and a search 10 (8)"},
	{"top-k", meaningOf, map[string]string{"import": "How many of an answer's retrieved passages count, the best first: some files rank the whole haystack"}, "nothing is retrieved"},
	{"top-k", defaultOf, map[string]string{"run sweep": "5,10,20"}, "a sweep compares several values"},
	{"top-k", unitOf, map[string]string{"run sweep": "N,..."}, "a sweep compares several values"},
	{"candidate-k", unitOf, map[string]string{"run sweep": "N,..."}, "a sweep compares several values"},
	{"mode", unitOf, map[string]string{"run sweep": "MODE,..."}, "a sweep compares several values"},
	{"mode", valuesOf, map[string]string{"run sweep": ""}, "the same ones, which the command checks itself, because it takes several"},
	{"output", unitOf, map[string]string{"run": "DIR", "run sweep": "DIR", "bench": "DIR", "import": "DIR", "dataset fetch": "DIR", "replay": "PATH"},
		"the specification gives run a folder and replay a file (4.4)"},
	{"output", defaultOf, map[string]string{"run": "results/", "run sweep": "results/", "bench": "results/"},
		"the specification gives run results/ (4.4); without a value the others print, or choose the name"},
	{"addr", defaultOf, map[string]string{"show": "127.0.0.1:0"}, "clients are configured with the address of a daemon, and show prints its own"},
	{"baseline", unitOf, map[string]string{"compare": "RUN"}, "compare has the files already, and takes a name too"},
	{"ids", unitOf, map[string]string{"replay": "@FILE"}, "a sample of a benchmark is a file"},
	{"labels", unitOf, map[string]string{"judge estimate": "FILE,..."}, "a file for each labeller"},
	{"target", unitOf, map[string]string{"conformance": "TARGET"}, "a daemon is checked alone"},
	{"judge", meaningOf, map[string]string{"judge check": "Model that judges"}, "judge check has no --model"},
	{"sample-size", meaningOf, map[string]string{"dataset sample": "Draw at most N questions, in the proportions of their types"},
		"dataset sample draws 1 or more"},
	{"margin", defaultOf, map[string]string{"compare": ""}, "without a margin, compare asks for any difference"},
	{"seed", defaultOf, map[string]string{"run": "0", "run sweep": "0", "replay": "42"}, "another default would draw other samples and orders than earlier results have"},
	{"seed", defaultOf, map[string]string{"init": ""}, "planted codes that are the same for everybody could be in a model"},
	{"sample-size", defaultOf, map[string]string{"replay": "0"}, "dataset sample needs a value"},
	{"scorer", defaultOf, map[string]string{"rescore": "", "dataset check": ""}, "rescore needs a value; dataset check checks the format without one"},
	{"scorer", valuesOf, map[string]string{"dataset check": ",bleu-1,checks,exact,judge,kendall-tau,retrieval,rouge-l,token-f1"}, "a scorer of your own says itself what it needs"},
	{"format", valuesOf, map[string]string{"run plan": "text,json,csv", "compare": "text,markdown,json,csv", "conformance": "text,json,junit,markdown"},
		"a command has the forms that its report has"},
	{"input-format", valuesOf, map[string]string{"replay": "auto,jsonl,longmemeval,locomo,beam,convomem,personamem,memoryagentbench,prefeval,agent-memory-benchmark,letta,halumem,locomo-plus,longmemeval-v2,lifebench,beir",
		"dataset convert": "auto,csv,tsv,yaml,json,longmemeval,locomo,beam,convomem,personamem,memoryagentbench,prefeval,agent-memory-benchmark,letta,halumem,locomo-plus,longmemeval-v2,lifebench,beir"},
		"replay reads benchmarks, and dataset convert tables too"},
}

// withoutDefault matches the default at the end of a help text.
var withoutDefault = regexp.MustCompile(` \(([^() ]*)\)\.$`)

// givenDefault returns a flag's default, which is at the end of its help text if its tag has none.
func givenDefault(f *kong.Flag) string {
	if said := withoutDefault.FindStringSubmatch(f.OrigHelp); said != nil && !strings.HasPrefix(said[1], "$") {
		return cmp.Or(f.Default, said[1])
	}
	return f.Default
}

// use is a flag of a command.
type use struct {
	command string
	flag    *kong.Flag
	has     map[string]string
}

// flagUses returns the flags of all commands by name, with the commands in the order of the help.
func flagUses() map[string][]use {
	uses := map[string][]use{}
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			unit, list := f.PlaceHolder, f.Target.Kind() == reflect.Slice
			if list && !strings.Contains(unit, ",") {
				unit += ",..."
			}
			if f.IsBool() {
				unit = "switch"
			}
			uses[f.Name] = append(uses[f.Name], use{
				strings.TrimPrefix(n.Path(), "evalctl "), f,
				map[string]string{meaningOf: strings.TrimSuffix(withoutDefault.ReplaceAllString(f.OrigHelp, ""), "."), unitOf: unit, defaultOf: givenDefault(f), valuesOf: f.Enum},
			})
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	for _, c := range grammar(nil).Children {
		walk(c)
	}
	delete(uses, "help")
	return uses
}

// TestFlags checks that a flag has one meaning, unit, default and set of values in all commands,
// but for exceptions, and that none of these has become none.
func TestFlags(t *testing.T) {
	uses := flagUses()
	for _, e := range exceptions {
		if e.reason == "" {
			t.Errorf("--%s: the exception for its %s has no reason", e.flag, e.what)
		}
	}
	for name, of := range uses {
		for _, what := range []string{meaningOf, unitOf, defaultOf, valuesOf} {
			in := map[string]string{}
			for _, e := range exceptions {
				if e.flag == name && e.what == what {
					maps.Copy(in, e.in)
				}
			}
			rule := map[string][]string{}
			for _, u := range of {
				if want, ok := in[u.command]; ok {
					if want != u.has[what] {
						t.Errorf("--%s of %s: %s is %q, and the exception says %q", name, u.command, what, u.has[what], want)
					}
					delete(in, u.command)
				} else {
					rule[u.has[what]] = append(rule[u.has[what]], u.command)
				}
			}
			if len(rule) > 1 {
				t.Errorf("--%s has more than one %s: %v: use the text in meanings, another name, or add an exception", name, what, rule)
			}
			for command := range in {
				t.Errorf("--%s: the exception for its %s names %s, which has no such flag", name, what, command)
			}
			for _, u := range of {
				if got, ok := rule[u.has[what]]; ok && slices.Contains(exceptionCommands(name, what), u.command) && len(got) > 0 {
					t.Errorf("--%s: the exception for its %s in %s is not needed: the others have the same", name, what, u.command)
				}
			}
		}
	}
}

// exceptionCommands returns the commands that exceptions of a flag are about.
func exceptionCommands(flag, what string) (commands []string) {
	for _, e := range exceptions {
		if e.flag == flag && e.what == what {
			commands = slices.AppendSeq(commands, maps.Keys(e.in))
		}
	}
	return commands
}

// TestMeanings checks that two commands or more have the flag of each text in meanings.
func TestMeanings(t *testing.T) {
	uses := flagUses()
	for name := range meanings {
		of := uses[strings.ReplaceAll(name, "_", "-")]
		if len(of) < 2 {
			t.Errorf("%s: %d commands have the flag", name, len(of))
		}
		for _, u := range of {
			if slices.Contains(exceptionCommands(u.flag.Name, meaningOf), u.command) {
				continue
			}
			if !strings.HasPrefix(u.has[meaningOf], "${about_"+name+"}") {
				t.Errorf("--%s of %s has a text of its own: %s", u.flag.Name, u.command, u.has[meaningOf])
			}
		}
	}
}

const tableMark = "<!-- What follows is written by go test ./cmd/evalctl -run TestFlagPage -update -->\n"

// TestFlagPage keeps the tables of flags.md.
func TestFlagPage(t *testing.T) {
	const path = "../../docs/flags.md"
	page := filetest.Read(t, path)
	text, _, found := strings.Cut(string(page), tableMark)
	if !found {
		t.Fatalf("%s has no mark where its tables begin", path)
	}
	var b strings.Builder
	b.WriteString(text + tableMark + belongings() + "\n## All flags\n\n| flag | value | default | in | meaning |\n|---|---|---|---|---|\n")
	uses := flagUses()
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		rule := ruleOf(uses[name])
		var in []string
		for _, u := range uses[name] {
			in = append(in, u.command)
		}
		shown := unitOf
		if rule.has[unitOf] == "" {
			shown = valuesOf
		}
		meaning := prose.Replace(withoutDefault.ReplaceAllString(rule.flag.Help, ""))
		if rule.has[valuesOf] != "" && shown == valuesOf {
			meaning = strings.Replace(meaning, ": "+rule.has[valuesOf], "", 1)
		}
		if other := otherMeaning(name); other != "" {
			meaning = strings.TrimSuffix(meaning, ".") + "." + other
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s | %s |\n", name, ruleAnd(valueCell(cmp.Or(rule.has[shown], "TEXT")), exceptional(name, shown, rule)),
			ruleAnd(valueCell(rule.has[defaultOf]), exceptional(name, defaultOf, rule)), strings.Join(in, ", "), meaning)
	}
	goldentest.Compare(t, path, b.String())
}

// prose escapes what Markdown would take as its own.
var prose = strings.NewReplacer("<", "&lt;", "|", "\\|", "*", "\\*", "$", "\\$")

// belongings returns the table of project.Belongs.
func belongings() string {
	of := map[string][]string{}
	for _, flag := range slices.Sorted(maps.Keys(project.Belongs)) {
		for _, owner := range project.Belongs[flag] {
			of[owner] = append(of[owner], "`--"+flag+"`")
		}
	}
	var b strings.Builder
	b.WriteString("\n| overridden | not used |\n|---|---|\n")
	for _, owner := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&b, "| `--%s` | %s |\n", owner, strings.Join(of[owner], ", "))
	}
	return b.String()
}

// TestBelongsTogether checks that some command that a file has flags of has each pair of
// project.Belongs.
func TestBelongsTogether(t *testing.T) {
	commands := project.FlagsOf(grammar(project.Commands))
	for flag, owners := range project.Belongs {
		for _, owner := range owners {
			has := func(flags []*kong.Flag, name string) bool {
				return slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name })
			}
			if !slices.ContainsFunc(slices.Collect(maps.Values(commands)), func(flags []*kong.Flag) bool { return has(flags, flag) && has(flags, owner) }) {
				t.Errorf("no command has both --%s and --%s", flag, owner)
			}
		}
	}
}

// ruleOf returns the use of a flag that has the fewest exceptions.
func ruleOf(uses []use) use {
	return slices.MinFunc(uses, func(a, b use) int { return exceptionsOf(a) - exceptionsOf(b) })
}

func exceptionsOf(u use) (n int) {
	for _, what := range []string{meaningOf, unitOf, defaultOf, valuesOf} {
		if slices.Contains(exceptionCommands(u.flag.Name, what), u.command) {
			n++
		}
	}
	return n
}

// valueCell returns a value for a cell, which is empty for a switch and for no default.
func valueCell(value string) string {
	if value == "" || value == "switch" {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.ReplaceAll(value, ",", ", "), "|", "\\|") + "`"
}

// exceptional returns what commands have instead of the rule.
func exceptional(flag, what string, rule use) string {
	commands := map[string][]string{} // by what they have
	for _, e := range exceptions {
		for command, has := range e.in {
			if e.flag == flag && e.what == what && has != rule.has[what] {
				commands[has] = append(commands[has], command)
			}
		}
	}
	var parts []string
	for _, has := range slices.Sorted(maps.Keys(commands)) {
		parts = append(parts, strings.Join(slices.Sorted(slices.Values(commands[has])), ", ")+" "+cmp.Or(valueCell(has), "none"))
	}
	return strings.Join(parts, "; ")
}

// otherMeaning returns what a flag means in the commands in which it means something else.
func otherMeaning(flag string) string {
	var b strings.Builder
	for _, e := range exceptions {
		for _, command := range slices.Sorted(maps.Keys(e.in)) {
			if e.flag == flag && e.what == meaningOf {
				fmt.Fprintf(&b, " In %s: %s.", command, prose.Replace(e.in[command]))
			}
		}
	}
	return b.String()
}

// ruleAnd returns the rule and its exceptions, without those that are empty.
func ruleAnd(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// TestDefaultsNamed checks that the help of a flag with a default names it.
func TestDefaultsNamed(t *testing.T) {
	for name, uses := range flagUses() {
		for _, u := range uses {
			byDefault := u.flag.Default
			if u.flag.Hidden || u.flag.IsBool() || u.flag.PlaceHolder == "" || byDefault == "" || byDefault == "0" {
				continue // kong shows a default in place of a placeholder
			}
			if !strings.Contains(u.flag.Help, "("+byDefault+")") && !strings.Contains(u.flag.Help, "Default: ") {
				t.Errorf("--%s of %s: the help does not name the default %s: %s", name, u.command, byDefault, u.flag.Help)
			}
		}
	}
}

// TestVariablesWithoutFlag checks that docs/environment.md lists no variable of a flag as one
// that has none.
func TestVariablesWithoutFlag(t *testing.T) {
	_, table, found := strings.Cut(string(filetest.Read(t, "../../docs/environment.md")), "that is seldom used:\n")
	table, _, _ = strings.Cut(table, "\n## ")
	if !found || !strings.Contains(table, "`SVC_SIGN_KEY_PASSPHRASE`") {
		t.Fatal("the table of variables was not found")
	}
	for name, uses := range flagUses() {
		for _, u := range uses {
			for _, variable := range u.flag.Envs {
				if !u.flag.Hidden && strings.Contains(table, "\n| `"+variable+"` |") {
					t.Errorf("%s is the variable of --%s of %s", variable, name, u.command)
				}
			}
		}
	}
}

// TestUnits checks that a flag that takes a time or a number says so.
func TestUnits(t *testing.T) {
	for name, uses := range flagUses() {
		for _, u := range uses {
			kind := u.flag.Target.Type()
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			number := kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64
			if unit := u.flag.PlaceHolder; number && unit == "" && u.flag.Enum == "" && !u.flag.Hidden {
				t.Errorf("--%s of %s: add a placeholder to its tag, such as DURATION or N", name, u.command)
			}
		}
	}
}
