// Command evalctl evaluates and benchmarks memory services. It includes a reference memory service.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"evalctl/daemon/protocol"
	"evalctl/harness/audit"
	"evalctl/harness/dataset"
	"evalctl/harness/launch"
	"evalctl/harness/project"
	"evalctl/harness/target"
	"evalctl/internal/environ"
	"evalctl/internal/postgres"
	"evalctl/internal/redact"
	"evalctl/internal/roots"
	"evalctl/internal/terminal"
	"evalctl/replay/imports"
	"evalctl/scorer"
)

// cli is the grammar of the command line: one field per command. A name of two words is a command of
// its own that the help lists below its first word. See newParser and joined.
type cli struct {
	Init        initCmd        `cmd:"" group:"evaluate" help:"Write a project: questions, documents, flags and a workflow."`
	Run         runCmd         `cmd:"" group:"evaluate" help:"Evaluate a daemon on a dataset of questions."`
	Sweep       sweepCmd       `cmd:"" group:"evaluate" name:"run sweep" help:"Compare retrieval settings on one daemon."`
	Plan        planCmd        `cmd:"" group:"evaluate" name:"run plan" help:"Say how often a gate misjudges, before spending anything."`
	Replay      replayCmd      `cmd:"" group:"evaluate" help:"Measure memories with a published benchmark."`
	Bench       benchCmd       `cmd:"" group:"evaluate" help:"Measure how fast daemons are under load, and how far they go."`
	Conformance conformanceCmd `cmd:"" group:"evaluate" help:"Check a daemon against the protocol."`
	Compare     compareCmd     `cmd:"" group:"results" help:"Compare results, question by question."`
	Show        showCmd        `cmd:"" group:"results" help:"Print a result, write it as HTML or other forms, or serve a folder."`
	List        listCmd        `cmd:"" group:"results" name:"show list" help:"List the results in a folder."`
	Trend       trendCmd       `cmd:"" group:"results" name:"show trend" help:"Show how results changed from night to night."`
	Board       boardCmd       `cmd:"" group:"results" name:"show board" help:"Rank the comparable results in a folder."`
	Verify      verifyCmd      `cmd:"" group:"results" help:"Recompute the figures of result files, and sign them."`
	Audit       auditCmd       `cmd:"" group:"results" name:"verify audit" help:"Answer claims that the field argues about from results, without a model."`
	Import      importCmd      `cmd:"" group:"results" help:"Make results from answers that other harnesses stored."`
	Rescore     rescoreCmd     `cmd:"" group:"results" help:"Score the answers of a result again, without a daemon."`
	Dataset     datasetCmd     `cmd:"" group:"inputs" help:"Datasets: check, sample, convert, fetch."`
	Judge       judgeCmd       `cmd:"" group:"inputs" help:"Judges beside people who label answers: check, label, estimate."`
	TargetFor   targetCmd      `cmd:"" group:"inputs" name:"target" help:"Memories of others, MCP servers and services: map, check."`
	Serve       serveCmd       `cmd:"" group:"service" help:"Serve the reference memory service over HTTP."`
	MCP         mcpCmd         `cmd:"" group:"service" name:"serve mcp" help:"Serve memory tools to an MCP client, on stdin and stdout."`
	Worker      workerCmd      `cmd:"" group:"service" name:"serve worker" help:"Ask and score the questions of replays that are on a queue."`
	Keys        keysCmd        `cmd:"" group:"service" name:"serve keys" help:"Create, list and revoke API keys."`
	Health      healthCmd      `cmd:"" group:"service" name:"serve health" help:"Check whether a daemon is healthy."`
	ConfigFor   configCmd      `cmd:"" group:"program" name:"config" help:"Print the flags in force, and where they come from."`
	PricesOf    pricesCmd      `cmd:"" group:"program" name:"prices" help:"Print the prices of models that costs are computed with."`
	Completion  completionCmd  `cmd:"" group:"program" help:"Print a shell completion script."`
	HelpFor     helpCmd        `cmd:"" group:"program" name:"help" help:"Print the help of a command."`
	Watchdog    watchdogCmd    `cmd:"" hidden:""`

	commonFlags
}

// commonFlags are the flags of all commands.
type commonFlags struct {
	Config      string      `name:"config" placeholder:"FILE" group:"advanced" help:"Project file with flags of commands. Default: evalctl.yaml in the current folder, if there is one. none: read no file."`
	ShowVersion versionFlag `name:"version" group:"advanced" help:"Print the version and the commit it was built from."`
}

// process gives a command access to its arguments, environment and standard streams.
type process struct {
	args   []string
	env    func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	// defined has the targets that the project file defines, by name.
	defined map[string]string
	// config is the project file that set flags or commands of daemons, empty if none did.
	config string
	// quiet is set once a command prints no report, because of --quiet.
	quiet bool

	// hangups returns a channel that receives when the process gets SIGHUP. The signal ends a
	// command that does not call it. Nil means that there are no signals.
	hangups func() <-chan struct{}
}

// newTerminal returns the terminal that messages are printed on, stderr. Output for programs goes
// to stdout.
func newTerminal(p *process, quiet bool) *terminal.Terminal {
	p.quiet = p.quiet || quiet
	return terminal.New(p.stderr, p.env, quiet)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), heeded(os.Interrupt, syscall.SIGTERM)...)
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	// What HTTP clients log with package log gets the level Info here, for example that a server sent
	// bytes unasked. What matters of that is an error of a request.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	ctx, hangups := catchHangup(ctx)
	os.Exit(run(ctx, &process{
		args: os.Args[1:], env: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, hangups: hangups,
	}))
}

// sameSignal is how long after the first signal further ones are ignored, because programs such as
// timeout(1) send theirs twice at once. After that, a signal ends the process immediately.
const sameSignal = time.Second

// heeded returns the signals that were not ignored when the process was started, as nohup and a shell's
// background jobs have it: these stay ignored.
func heeded(signals ...os.Signal) []os.Signal { return slices.DeleteFunc(signals, signal.Ignored) }

// catchHangup returns a context that SIGHUP ends, and process.hangups.
func catchHangup(ctx context.Context) (context.Context, func() <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	var wanted atomic.Bool
	hangups := make(chan struct{}, 1)
	signals := make(chan os.Signal, 1)
	if hangup := heeded(syscall.SIGHUP); len(hangup) > 0 {
		signal.Notify(signals, hangup...)
	}
	go func() {
		for range signals {
			if !wanted.Load() {
				cancel()
				time.AfterFunc(sameSignal, func() { signal.Stop(signals) })
				return
			}
			select {
			case hangups <- struct{}{}:
			default: // one is waiting
			}
		}
	}()
	return ctx, func() <-chan struct{} {
		wanted.Store(true)
		return hangups
	}
}

func run(ctx context.Context, p *process) int {
	err := dispatch(ctx, p)
	if err == nil {
		return exitDone
	}
	printed := err
	if !p.quiet {
		printed = unreported(err)
	}
	if printed != nil {
		text := redact.New(environ.Secrets(os.Environ())...).Text(postgres.Mask(printed.Error()))
		fmt.Fprintf(p.stderr, "evalctl: %s\n", terminal.Lines(text))
	}
	return exitCode(ctx, err)
}

func dispatch(ctx context.Context, p *process) error {
	if len(p.args) == 0 {
		return noCommand(ctx, p)
	}
	p.renameCommand()
	var c cli
	config := resolver()
	kctx, err := parse(ctx, p, &c, kong.Resolvers(config))
	p.defined, p.config = config.Targets(), config.InUse()
	if config.Err != nil {
		err = config.Err
	}
	if err == nil {
		trustRoots(kctx)
	}
	if err == nil && (c.Run.Resume != "" || c.Replay.Resume != "") {
		// Flags that the command line does not set are read from the journal or the ledger.
		var options kong.Resolver
		if c.Run.Resume != "" {
			options, err = c.Run.journalOptions(p)
		} else {
			options, err = c.Replay.ledgerOptions(ctx, p)
		}
		if err == nil {
			c = cli{}
			kctx, err = parse(ctx, p, &c, kong.Resolvers(options))
		}
	}
	if err != nil {
		return err
	}
	p.noteRenamed(kctx)
	p.noteUnused(kctx, config)
	if _, ok := p.stderr.(*os.File); ok && measures(kctx.Selected().Path()) { // others may have one user at a time
		defer context.AfterFunc(ctx, func() { answerInterrupt(p) })()
	}
	return kctx.Run()
}

// measures reports whether a command asks daemons or models, and keeps what it has when it is
// interrupted.
func measures(command string) bool {
	return slices.Contains([]string{"run", "replay", "run sweep", "bench", "conformance", "rescore"}, command)
}

// answerInterrupt says at once what an interrupted command waits for.
func answerInterrupt(p *process) {
	begin := ""
	if terminal.Is(p.stderr) {
		begin = "\n" // the line of the progress
	}
	fmt.Fprintf(p.stderr, "%sevalctl: interrupted: waiting for requests under way to end and for started daemons to stop; results so far are kept; press Ctrl-C again to stop at once, without a report\n", begin)
}

// parse parses the command line of p into c.
func parse(ctx context.Context, p *process, c *cli, more ...kong.Option) (*kong.Context, error) {
	args, all := withoutAll(joined(p.args))
	var command []string
	if len(args) > 0 && c.field(args[0]) >= 0 {
		command = args[:1]
	}
	if all {
		more = append(more, kong.Help(printAllHelp))
	}
	k, err := newParser(ctx, p, c, command, more...).Parse(args)
	if err != nil {
		if e, ok := errors.AsType[*kong.ParseError](err); ok {
			return k, plainly(e.Context, err)
		}
		return k, err
	}
	return k, project.CheckTyped(k, slices.Concat(c.Serve.settings().Empty(), c.MCP.settings().Empty())...)
}

// newParser returns a parser of the command line. Its values go to c. It knows only some commands,
// or all if the list is empty: the flags of all commands take longer to build than most commands
// take to run.
func newParser(ctx context.Context, p *process, c *cli, commands []string, more ...kong.Option) *kong.Kong {
	options := append([]kong.Option{
		kong.Name("evalctl"),
		kong.Description("Evaluate and benchmark memory services."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Help(printHelp),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(readDuration)),
		kong.ExplicitGroups(helpGroups),
		kong.Writers(p.stdout, p.stderr),
		kong.BindFor(ctx),
		kong.Bind(p),
		kong.Bind(c),
		tagVars(),
	}, more...)
	grammar := any(c)
	for _, name := range commands {
		field, value := reflect.TypeFor[cli]().Field(c.field(name)), reflect.ValueOf(c).Elem().Field(c.field(name))
		options = append(options, kong.DynamicCommand(name, field.Tag.Get("help"), "", value.Addr().Interface()))
		grammar = &c.commonFlags
	}
	parser, err := kong.New(grammar, options...)
	if err != nil {
		panic(err) // the grammar is invalid, which every test detects
	}
	return parser
}

// grammar returns the model of some commands, or of all if the list is empty.
func grammar(commands []string) *kong.Node {
	return newParser(context.Background(), &process{}, &cli{}, commands).Model.Node
}

// names returns the names of the fields of commands, empty for other fields.
func (*cli) names() []string {
	t := reflect.TypeFor[cli]()
	names := make([]string, t.NumField())
	for i := range names {
		tag := t.Field(i).Tag
		if _, ok := tag.Lookup("cmd"); ok {
			names[i] = cmp.Or(tag.Get("name"), strings.ToLower(t.Field(i).Name))
		}
	}
	return names
}

// field returns the index of the field of a command, -1 if there is no such command.
func (c *cli) field(command string) int { return slices.Index(c.names(), cmp.Or(command, "?")) }

// tagVars sets the variables in the tags of flags: the names of all scenarios, modes, scorers and
// formats, and phrases that describe them.
func tagVars() kong.Option {
	var scenarios, help, formats []string
	for _, s := range target.Scenarios() {
		scenarios = append(scenarios, string(s.Name))
	}
	for _, k := range scorer.Kinds() {
		help = append(help, fmt.Sprintf("%s (%s)", k.Name, k.Help))
	}
	for _, b := range dataset.Benchmarks() {
		formats = append(formats, string(b.Format))
	}
	list := func(names []string) string { return strings.Join(names, ",") }
	return expandTags(map[string]string{
		"scenarios": list(scenarios), "default_scenario": scenarios[0], "modes": list(protocol.Modes),
		"scorers": list(scorer.Names()), "scorer_help": strings.Join(help, ", "), "import_formats": list(imports.Formats()), "claims": list(audit.Claims()),
		"benchmarks": list(formats),
	})
}

// unconnected lists the commands that connect to nothing.
var unconnected = []string{"completion", "config", "watchdog"}

// trustRoots sets root certificates for commands that may connect to something. The variables that
// package crypto/x509 reads belong to this process.
func trustRoots(kctx *kong.Context) {
	command, _, _ := strings.Cut(kctx.Command(), " ")
	if !slices.Contains(unconnected, command) {
		roots.Trust(os.Getenv)
	}
}

// firstWord returns the index of the first word of the arguments that belongs to no flag of all
// commands, len(args) if there is none.
func firstWord(args []string) int {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		if args[i] == "--config" {
			i++
		}
		i++
	}
	return min(i, len(args))
}

// joined joins the two words of a command such as "run sweep" to one argument, as the grammar has it.
func joined(args []string) []string {
	i := firstWord(args)
	if i+1 >= len(args) || (*cli)(nil).field(args[i]+" "+args[i+1]) < 0 {
		return args
	}
	return slices.Concat(args[:i], []string{args[i] + " " + args[i+1]}, args[i+2:])
}

// renamedCommands are the commands by their old names, which the next version does not accept.
var renamedCommands = map[string]string{
	"audit":            "verify audit",
	"board":            "show board",
	"dataset init":     "init",
	"dataset schema":   "dataset check --schema",
	"dataset stats":    "dataset check",
	"dataset validate": "dataset check",
	"diff":             "compare --question",
	"health":           "serve health",
	"judge plan":       "judge estimate",
	"keys":             "serve keys",
	"list":             "show list",
	"mcp install":      "serve mcp --install",
	"mcp":              "serve mcp",
	"migrate":          "serve --migrate",
	"plan":             "run plan",
	"report":           "show",
	"sign":             "verify --sign",
	"sweep":            "run sweep",
	"target list":      "target map",
	"trend":            "show trend",
	"version":          "--version",
	"view":             "show --serve",
	"worker":           "serve worker",
}

// renameCommand replaces an old name of a command, and says so unless --quiet is given.
func (p *process) renameCommand() {
	i := firstWord(p.args)
	for words := 2; words > 0; words-- {
		old := strings.Join(p.args[i:min(i+words, len(p.args))], " ")
		name, renamed := renamedCommands[old]
		if !renamed {
			continue
		}
		p.args = slices.Concat(p.args[:i], strings.Fields(name), p.args[min(i+words, len(p.args)):])
		if !slices.Contains(p.args, "--quiet") {
			fmt.Fprintf(p.stderr, "evalctl: note: evalctl %s is now evalctl %s; the next version does not accept the old name\n", old, name)
		}
		return
	}
}

// noteRenamed says which flags of the command line have other names now, unless --quiet is given.
// The old names are aliases of the new ones until the next version. --sdk is none of them: it is
// short for --target.
func (p *process) noteRenamed(k *kong.Context) {
	if slices.Contains(p.args, "--quiet") || k.Selected() == nil {
		return
	}
	for _, f := range k.Selected().Flags {
		for _, old := range f.Aliases {
			given := func(arg string) bool { return arg == "--"+old || strings.HasPrefix(arg, "--"+old+"=") }
			if old != "sdk" && slices.ContainsFunc(p.args, given) {
				fmt.Fprintf(p.stderr, "evalctl: note: --%s is now --%s; the next version does not accept the old name\n", old, f.Name)
			}
		}
	}
}

// noteUnused says which flags of the project file are not used, because they belong to another that
// is overridden, unless --quiet is given.
func (p *process) noteUnused(k *kong.Context, config *project.Resolver) {
	if slices.Contains(p.args, "--quiet") {
		return
	}
	flags, settings := config.Unused(k)
	for i, flag := range flags {
		fmt.Fprintf(p.stderr, "evalctl: note: --%s of %s, which is overridden, and is not used\n", flag, terminal.Line(settings[i].Text()))
	}
}

// watchdogCmd is the hidden command of the process below which a daemon is started, and which ends
// it when evalctl is killed.
type watchdogCmd struct{}

// Run starts a daemon and waits for its end (see launch.Watchdog).
func (watchdogCmd) Run(p *process) error {
	return launch.Watchdog(p.stdin, p.stdout)
}
