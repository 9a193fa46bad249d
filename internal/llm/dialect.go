package llm

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Names of the parameter that limits the output.
const (
	LimitTokens     = "max_tokens"
	LimitCompletion = "max_completion_tokens"
)

// Dialect is how an endpoint wants a model to be asked.
type Dialect struct {
	// Limit is the name of the parameter that limits the output.
	Limit string
	// Temperature says whether a temperature is sent. JSON says whether response_format is sent
	// when JSON is asked for. Without System, instructions are the beginning of the first message
	// of the user.
	Temperature, JSON, System bool
}

// usualDialect returns the dialect to begin with. The name of a model is only a hint: the
// endpoint's refusals decide.
func usualDialect(model string) Dialect {
	if IsReasoningModel(model) {
		return Dialect{Limit: LimitCompletion, JSON: true, System: true}
	}
	return Dialect{Limit: LimitTokens, Temperature: true, JSON: true, System: true}
}

// dialects has the known dialects of the models of an endpoint. The zero value is ready to use,
// also concurrently.
type dialects struct {
	mu    sync.Mutex
	found map[string]Dialect // accepted by the endpoint
	// probed are the models that were probed.
	probed map[string]bool
}

// of returns the dialect of a model: the one that the endpoint has accepted, else the usual one.
func (d *dialects) of(model string) Dialect {
	d.mu.Lock()
	defer d.mu.Unlock()
	if is, accepted := d.found[model]; accepted {
		return is
	}
	return usualDialect(model)
}

// accept keeps the dialect that the endpoint has accepted. It leaves out the parameters that the
// request did not send or that its options determined.
func (d *dialects) accept(r Request, asked Dialect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	is, ok := d.found[r.Model]
	if !ok {
		is = usualDialect(r.Model)
	}
	o := r.Options
	if o.Limit == "" {
		is.Limit = asked.Limit
	}
	if o.Temperature == "" {
		is.Temperature = asked.Temperature
	}
	if o.Format == "" && r.JSON {
		is.JSON = asked.JSON
	}
	if o.System == "" && r.instructs() {
		is.System = asked.System
	}
	if d.found == nil {
		d.found = map[string]Dialect{}
	}
	d.found[r.Model] = is
}

// instructs reports whether a request has a message of the system.
func (r Request) instructs() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == RoleSystem })
}

// mayProbe reports whether a model may be probed: once, and only while nothing is known about it.
func (d *dialects) mayProbe(model string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, accepted := d.found[model]; accepted || d.probed[model] {
		return false
	}
	if d.probed == nil {
		d.probed = map[string]bool{}
	}
	d.probed[model] = true
	return true
}

// refuses reports whether the endpoint has refused a request.
func refuses(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// dialectSearch finds a dialect for a request.
type dialectSearch struct {
	request Request
	tried   []Dialect
}

// next returns the dialect to try after the endpoint has refused the last one of tried. named
// reports whether the refusal names a parameter. ok is false if no dialect is left to try.
func (s *dialectSearch) next(err error) (d Dialect, named, ok bool) {
	e, _ := errors.AsType[*Error](err)
	if !refuses(err) {
		return Dialect{}, false, false
	}
	d, named = s.tried[len(s.tried)-1].without(e.said, s.request)
	return d, named, named && s.open(d)
}

// plain returns the next dialect to try after a refusal that names no parameter.
func (s *dialectSearch) plain() (d Dialect, ok bool) {
	for _, d := range s.tried[0].plainer() {
		if s.open(d) {
			return d, true
		}
	}
	return Dialect{}, false
}

// probe returns a request of the same parameters with a text that no endpoint refuses.
func (r Request) probe() Request {
	text := "Reply with the word yes alone."
	if r.JSON {
		text = `Reply with the JSON object {"reply": "yes"} alone.`
	}
	p := r
	p.Emit, p.Retried, p.Messages = nil, nil, []Message{{RoleUser, text}}
	if r.instructs() {
		p.Messages = []Message{{RoleSystem, "You reply to requests."}, {RoleUser, text}}
	}
	return p
}

// open reports whether a dialect agrees with the options of the request, and sends something other
// than the dialects that were tried.
func (s *dialectSearch) open(d Dialect) bool {
	return s.request.Options.over(d) == d &&
		!slices.ContainsFunc(s.tried, func(t Dialect) bool { return t.sent(s.request) == d.sent(s.request) })
}

// sent returns the dialect without the parts that a request does not need.
func (d Dialect) sent(r Request) Dialect {
	d.JSON = d.JSON && r.JSON
	d.System = d.System && r.instructs()
	return d
}

// fields returns the parameters of a request that the client library cannot send unchanged.
func (d Dialect) fields(r Request) map[string]any {
	f := map[string]any{d.Limit: r.MaxTokens}
	if d.Temperature {
		f["temperature"] = r.Temperature
	}
	return f
}

// messages returns the messages of a request. Without the role system, instructions are at the
// beginning of the first message of the user.
func (d Dialect) messages(r Request) []Message {
	if d.System || !r.instructs() {
		return r.Messages
	}
	var out []Message
	instructions := ""
	for _, m := range r.Messages {
		switch m.Role {
		case RoleSystem:
			instructions += m.Content + "\n\n"
			continue
		case RoleUser:
			m.Content = instructions + m.Content
			instructions = ""
		}
		out = append(out, m)
	}
	if instructions != "" {
		out = append(out, Message{RoleUser, strings.TrimSpace(instructions)})
	}
	return out
}

// other returns the other name of the limit.
func (d Dialect) other() string {
	if d.Limit == LimitTokens {
		return LimitCompletion
	}
	return LimitTokens
}

// plainer returns dialects to try after a refusal that does not name its cause: first without one
// of the parameters, then without any.
func (d Dialect) plainer() []Dialect {
	change := func(f func(*Dialect)) Dialect {
		c := d
		f(&c)
		return c
	}
	return []Dialect{
		change(func(c *Dialect) { c.JSON = false }),
		change(func(c *Dialect) { c.Temperature = false }),
		change(func(c *Dialect) { c.Limit = d.other() }),
		change(func(c *Dialect) { c.System = false }),
		{Limit: d.Limit},
		{Limit: d.other()},
	}
}

// The words by which refusals name parts of a request.
var (
	aboutSize = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)too (?:large|long|high|big|many)|context (?:length|size|window)|at most|exceed|less than|must be (?:positive|greater)`)
	})
	aboutTemperature = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\btemperature\b`) })
	aboutFormat      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)response_?format|json_object|json_schema|json mode|structured output`)
	})
	aboutSystem = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bsystem['"\x60]? (?:role|message|prompt|instruction)|\brole\W{0,12}system\b|'system'|developer instruction|roles must alternate`)
	})
)

// without returns the dialect without the parameter that a refusal names and the request has sent.
// ok is false if it names none.
func (d Dialect) without(said refusal, r Request) (next Dialect, ok bool) {
	sent := d.sent(r)
	name, _, _ := strings.Cut(said.param, ".")
	switch name {
	case LimitTokens, LimitCompletion:
		ok = name == d.Limit && !said.concernsSize(d.other())
		d.Limit = sent.other()
		return d, ok
	case "temperature":
		d.Temperature = false
		return d, sent.Temperature
	case "response_format":
		d.JSON = false
		return d, sent.JSON
	}
	text := said.message
	switch {
	case strings.Contains(text, d.Limit) && !said.concernsSize(d.other()):
		d.Limit = d.other()
	case sent.Temperature && aboutTemperature().MatchString(text):
		d.Temperature = false
	case sent.JSON && aboutFormat().MatchString(text):
		d.JSON = false
	case sent.System && aboutSystem().MatchString(text):
		d.System = false
	default:
		return d, false
	}
	return d, true
}
