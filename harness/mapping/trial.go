package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/target"
	"evalctl/internal/printable"
	"evalctl/internal/retry"
)

const (
	// mostTried limits the offers, and the forms of each, tried for one operation.
	mostTried = 8
	// mostAmended limits how often a call is amended as its errors ask.
	mostAmended = 4
	// findWithin is how long a service may take until a written text is found.
	findWithin = 15 * time.Second
)

// trial finds out what the offers of a service do by calling them.
type trial struct {
	*Subject
	shown   io.Writer
	mark    string // in all samples
	samples []*sample
	p       *Proposal
	spaces  bool // whether calls name a brain where they can
	failed  map[string]int
	query   string // finds the samples
	reply   string // to it
}

// brainOf returns the brain of the samples.
func (t *trial) brainOf() string { return "evalctl-" + t.mark }

// run tries the offers. It deletes the samples at the end if it has found a way to delete.
func (t *trial) run(ctx context.Context) error {
	t.failed = map[string]int{}
	t.spaces = !t.starts()
	remembers := t.remembers()
	if len(remembers) == 0 {
		return fmt.Errorf("no call of the service stores a text: %s; write a mapping by hand, see docs/any-memory.md", t.Offers())
	}
	if err := t.writeAndFind(ctx, remembers); err != nil {
		return err
	}
	t.tryQuestion(ctx)
	found := t.tryNothing(ctx)
	t.separate(ctx)
	t.tryGet(ctx)
	t.tryUpdate(ctx)
	t.tryDelete(ctx)
	if found && t.p.Delete != nil {
		t.tryNothing(ctx)
	}
	t.noteLeft()
	return ctx.Err()
}

// remembers returns the calls that may remember a text.
func (t *trial) remembers() (calls []*Call) {
	must := []role{anyTitleRole, nameRole, dateRole, spaceRole}
	fillers := []filler{
		{roles: t.within(textRole, nameRole), required: must, must: "{text}"},
		{roles: t.within(textRole, titleRole, nameRole, dateRole), required: must, must: "{text}"},
		{roles: []role{textRole}, required: must, must: "{text}"},
	}
	offers := ranked(t.offers, rememberWords)
	for _, o := range offers[:min(len(offers), 2*mostTried)] {
		if o.method != "" && o.method != "POST" && o.method != "PUT" {
			continue
		}
		calls = append(calls, o.forms(fillers, flippedOptions)...)
	}
	// Try the first form of every offer before other forms.
	seen := map[*offer]int{}
	order := map[*Call]int{}
	for _, c := range calls {
		order[c] = seen[c.offer]
		seen[c.offer]++
	}
	slices.SortStableFunc(calls, func(a, b *Call) int { return order[a] - order[b] })
	return slices.Concat(t.known(func(m *Mapping) *operation { return m.remember }), calls)
}

// known returns the calls of built-in mappings with a tool that the service offers too: servers copy
// the tools of each other, and not always their schemas.
func (t *trial) known(of func(*Mapping) *operation) (calls []*Call) {
	for _, m := range Builtin() {
		op := of(m)
		if op == nil || op.tool == "" {
			continue
		}
		at := slices.IndexFunc(t.offers, func(o *offer) bool { return o.name == op.tool })
		var e entry
		if at < 0 || op.at.Decode(&e) != nil {
			continue
		}
		calls = append(calls, &Call{t.offers[at], e.Arguments})
	}
	return calls
}

// within returns roles, and adds the brain's role if calls can name brains.
func (t *trial) within(roles ...role) []role {
	if t.spaces {
		return append(roles, spaceRole)
	}
	return roles
}

// writeAndFind looks for calls that write the samples and find them.
func (t *trial) writeAndFind(ctx context.Context, remembers []*Call) error {
	if searches := t.searches(); len(searches) == 0 {
		return fmt.Errorf("no call of the service searches: %s; write a mapping by hand, see docs/any-memory.md", t.Offers())
	}
	wrote := 0
	var last error
	for _, c := range remembers {
		if wrote >= mostTried || ctx.Err() != nil {
			break
		}
		replies, err := t.write(ctx, c)
		for n := 0; err != nil && n < mostAmended; n++ {
			amended := c.amended(err.Error())
			if amended == nil {
				break
			}
			c = amended
			replies, err = t.write(ctx, c)
		}
		if err != nil {
			last = err
			continue
		}
		t.p.Remember = c
		sources := idSources(replies, t.samples)
		for i, s := range t.samples {
			s.given = nil
			for _, source := range sources {
				s.given = append(s.given, source.values[i])
			}
		}
		within := findWithin
		if wrote++; wrote > 1 {
			within /= 4
		}
		if t.find(ctx, within) {
			t.chooseIDs(sources)
			return nil
		}
		t.tryDelete(ctx)
		t.p.Delete = nil
	}
	t.noteLeft()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case wrote == 0:
		return fmt.Errorf("nothing remembers a text with arguments that follow from its schema; write the mapping by hand: %w", last)
	}
	return fmt.Errorf("no search found the sample texts within %v; write the mapping by hand", findWithin)
}

// write writes the samples with a call. It creates their brain first if the call needs one.
func (t *trial) write(ctx context.Context, c *Call) (replies []callReply, err error) {
	if uses(c.Arguments, "{brain}") && t.p.Create == nil {
		t.create(ctx)
	}
	for _, s := range t.samples {
		a, err := t.call(ctx, t.one, "remember", c, s.values(t.brainOf()))
		if err != nil {
			return nil, err
		}
		replies = append(replies, a)
	}
	return replies, nil
}

// create creates the brain of the samples, if an offer does this.
func (t *trial) create(ctx context.Context) {
	for _, o := range t.offers {
		space := slices.ContainsFunc(o.words, func(w string) bool { return slices.Contains(spaceArguments, w) })
		if !space || !slices.Contains(o.words, "create") || o.method != "" && o.method != "POST" {
			continue
		}
		names := role{names: slices.Concat(spaceArguments, []string{"name", "id", "slug"}), placeholder: "{brain}"}
		for _, c := range o.forms([]filler{{roles: []role{names}, must: "{brain}"}}, func(schema) []map[string]any { return nil }) {
			if _, err := t.call(ctx, t.one, "create", c, map[string]any{"brain": t.brainOf()}); err == nil {
				t.p.Create = c
				t.p.note("what create made is still there: %s", t.brainOf())
				return
			}
		}
	}
}

// searches returns the calls that may search.
func (t *trial) searches() (calls []*Call) {
	fillers := []filler{
		{roles: t.within(queryRole, topKRole), required: []role{spaceRole}, must: "{query}"},
		{roles: t.within(queryRole), required: []role{spaceRole}, must: "{query}"},
	}
	tried := 0
	for _, o := range ranked(t.offers, searchWords) {
		if o.method != "" && o.method != "POST" && o.method != "GET" || t.p.Remember != nil && o == t.p.Remember.offer || tried == mostTried {
			continue
		}
		if forms := o.forms(fillers, fullerOptions); len(forms) > 0 {
			tried++
			calls = append(calls, forms[:min(len(forms), 2*mostTried)]...)
		}
	}
	return calls
}

// find searches until the samples are found, and keeps the call with the best reply.
func (t *trial) find(ctx context.Context, within time.Duration) bool {
	deadline := time.Now().Add(within)
	finishes := ranked(t.offers, finishWords)
	for wait := 50 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, time.Second) {
		if t.search(ctx) {
			return true
		}
		if len(finishes) > 0 && time.Since(deadline.Add(-within)) > time.Second/2 {
			t.finish(ctx, finishes[0])
			finishes = finishes[1:]
			continue
		}
		if time.Now().After(deadline) {
			return false
		}
		_ = retry.Sleep(ctx, wait)
	}
	return false
}

// finish calls an offer that needs no arguments and may make written texts searchable.
func (t *trial) finish(ctx context.Context, o *offer) {
	if len(o.schema.Required) > 0 || o == t.p.Remember.offer || o.method != "" && o.method != "GET" && o.method != "POST" {
		return
	}
	c := &Call{o, map[string]any{}}
	if _, err := t.call(ctx, t.one, "finish", c, map[string]any{"brain": t.brainOf()}); err != nil {
		return
	}
	if t.search(ctx) {
		t.p.Finish = c
	}
}

// best is the quality of a place that has everything.
const best = 16

// search makes each candidate search once and keeps the best.
func (t *trial) search(ctx context.Context) bool {
	// The word in all samples, then a sentence for a service that compares meanings.
	for _, query := range []string{t.mark, t.samples[0].sentence()} {
		quality := 0
		for _, c := range t.searches() {
			key, err := json.Marshal(c.Arguments)
			if err != nil || t.failed[c.name+string(key)] > 1 || ctx.Err() != nil {
				continue
			}
			a, err := t.call(ctx, t.one, "search", c, t.asked(query))
			if err != nil {
				t.failed[c.name+string(key)]++
				continue
			}
			place := locate(a, t.samples)
			if q := place.quality(); q > quality {
				quality, t.p.Search, t.p.found, t.query, t.reply = q, c, place, query, a.text()
			}
			if quality == best {
				break
			}
		}
		if quality > 0 {
			return true
		}
	}
	return false
}

func (t *trial) asked(query string) map[string]any {
	return map[string]any{"brain": t.brainOf(), "query": query, "top_k": 10}
}

// chooseIDs keeps the place in write replies that has the ids found by a search.
func (t *trial) chooseIDs(sources []idSource) {
	if len(sources) > 0 {
		t.p.given = sources[0].reply
	}
	if t.p.found.cut {
		t.p.note("the search returns only the beginning of a text")
	}
	if t.p.found.plain && t.p.found.pattern == "" {
		t.p.note("the reply of the search is read as one text: say with split and pattern what an item is")
	}
}

// toldError matches a text reply that reports an error.
var toldError = regexp.MustCompile(`(?i)^[\s#*>❌]*(?:error|failed|failure|invalid|exception)\b|^\s*\{"error":|"isError":\s*true|"(?:success|ok)":\s*false`)

// call makes a call and shows it. A reply that seems to report an error counts as one.
func (t *trial) call(ctx context.Context, one caller, name string, c *Call, values map[string]any) (callReply, error) {
	o, err := c.operation(name)
	if err != nil {
		return callReply{}, err
	}
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	values = maps.Clone(values)
	values["home"] = t.cfg.Launch.Home
	shown, err := json.Marshal(o.arguments.render(values))
	if err != nil || o.arguments == nil {
		shown = nil
	}
	a, err := one.call(ctx, o, values)
	if err == nil && toldError.MatchString(a.text()) {
		err = fmt.Errorf("%s reports an error in its reply: %.200s", c.name, a.text())
	}
	fmt.Fprintf(t.shown, "%s\n  call   %s %s\n", name, c.name, shortened(string(shown), 200))
	if err != nil {
		fmt.Fprintf(t.shown, "  failed %v\n", err)
	} else {
		fmt.Fprintf(t.shown, "  reply  %s\n", shortened(a.text(), 300))
	}
	return a, err
}

// shortened returns the beginning of a text, with JSON on one line.
func shortened(text string, most int) string {
	var one bytes.Buffer
	if json.Compact(&one, []byte(text)) == nil {
		text = one.String()
	}
	return strings.ReplaceAll(printable.Short(text, most), "\n", "\n         ")
}

// operation returns the call as an operation of a mapping.
func (c *Call) operation(name string) (*operation, error) {
	data, err := yaml.Marshal(c.entry(nil))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("the call %s is empty", c.name)
	}
	f := &file{"the proposal"}
	return f.operation(name, doc.Content[0], slices.Concat(rememberNames, searchNames))
}
