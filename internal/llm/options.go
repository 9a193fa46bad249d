package llm

import (
	"fmt"
	"strconv"
	"strings"
)

// Options say how a model is asked. The zero value fixes nothing: the endpoint's refusals then show
// what it accepts.
type Options struct {
	// MaxTokens limits the output, and Limit is the name of its parameter. 0 and "" leave them
	// open.
	MaxTokens int    `json:"max_tokens,omitempty"`
	Limit     string `json:"limit,omitempty"`
	// Temperature is a number from 0 to 2, or none to send none.
	Temperature string `json:"temperature,omitempty"`
	// Format is json_object, or none to send no response_format.
	Format string `json:"response_format,omitempty"`
	// System is system, or none to send instructions with the first message of the user.
	System string `json:"system,omitempty"`
}

// none is the value of an option that is not sent.
const none = "none"

// OptionNames are the names of the options.
var OptionNames = []string{LimitTokens, LimitCompletion, "temperature", "response_format", "system"}

// ParseOptions parses a list of NAME=VALUE.
func ParseOptions(list []string) (o Options, err error) {
	for _, text := range list {
		name, value, ok := strings.Cut(strings.TrimSpace(text), "=")
		if !ok {
			return o, fmt.Errorf("%.60q must be NAME=VALUE, with a name of %s", text, strings.Join(OptionNames, ", "))
		}
		if err := o.Set(name, value); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Set sets an option, which must not be set already.
func (o *Options) Set(name, value string) error {
	target, values := (*string)(nil), ""
	switch name {
	case LimitTokens, LimitCompletion:
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxOptionTokens {
			return fmt.Errorf("%s is %.40q, it must be from 1 to %d", name, value, maxOptionTokens)
		}
		if o.MaxTokens > 0 {
			return fmt.Errorf("%s and %s are one limit: give one of them, once", LimitTokens, LimitCompletion)
		}
		o.MaxTokens, o.Limit = n, name
		return nil
	case "temperature":
		if t, err := strconv.ParseFloat(value, 64); value != none && !(err == nil && t >= 0 && t <= 2) {
			return fmt.Errorf("temperature is %.40q, it must be from 0 to 2, or none", value)
		}
		target = &o.Temperature
	case "response_format":
		target, values = &o.Format, "json_object"
	case "system":
		target, values = &o.System, RoleSystem
	default:
		return fmt.Errorf("there is no option %.40q: it must be one of %s", name, strings.Join(OptionNames, ", "))
	}
	switch {
	case values != "" && value != none && value != values:
		return fmt.Errorf("%s is %.40q, it must be %s or none", name, value, values)
	case *target != "":
		return fmt.Errorf("%s is given twice", name)
	}
	*target = value
	return nil
}

// maxOptionTokens is far beyond the output of any model.
const maxOptionTokens = 1 << 20

// Degrees returns the temperature of the options. ok is false if they have no number.
func (o Options) Degrees() (t float64, ok bool) {
	t, err := strconv.ParseFloat(o.Temperature, 64)
	return t, err == nil
}

// over returns a dialect with the settings of the options.
func (o Options) over(d Dialect) Dialect {
	if o.Limit != "" {
		d.Limit = o.Limit
	}
	if o.Temperature != "" {
		d.Temperature = o.Temperature != none
	}
	if o.Format != "" {
		d.JSON = o.Format != none
	}
	if o.System != "" {
		d.System = o.System != none
	}
	return d
}

// Or returns the options, completed by other where they say nothing.
func (o Options) Or(other Options) Options {
	if o.MaxTokens == 0 {
		o.MaxTokens, o.Limit = other.MaxTokens, other.Limit
	}
	for _, s := range []struct{ to, from *string }{
		{&o.Temperature, &other.Temperature}, {&o.Format, &other.Format}, {&o.System, &other.System},
	} {
		if *s.to == "" {
			*s.to = *s.from
		}
	}
	return o
}

// String returns the options as --judge-option takes them, "" without any.
func (o Options) String() string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{o.Limit, strconv.Itoa(o.MaxTokens)}, {"temperature", o.Temperature}, {"response_format", o.Format}, {"system", o.System},
	} {
		if p.name != "" && p.value != "" {
			parts = append(parts, p.name+"="+p.value)
		}
	}
	return strings.Join(parts, ",")
}

// Manner is how a request was sent.
type Manner struct {
	Dialect
	MaxTokens int
	// Degrees is the temperature that was sent, if one was.
	Degrees float64
	// Options are the request's. Parameters that they leave open were found out.
	Options Options
	// Usual is set if the request was sent as to most endpoints, without options.
	Usual bool
}

// asked returns how r is sent in a dialect.
func (r Request) asked(d Dialect) Manner {
	usual := Dialect{Limit: LimitTokens, Temperature: true, JSON: true, System: true}
	return Manner{
		Dialect: d.sent(r), MaxTokens: r.MaxTokens, Degrees: r.Temperature, Options: r.Options,
		Usual: r.Options == Options{} && d.sent(r) == usual.sent(r),
	}
}

// String returns the parameters as options. A mark follows those that were given and not found out.
func (a Manner) String() string {
	temperature, format, system := none, none, none
	if a.Temperature {
		temperature = strconv.FormatFloat(a.Degrees, 'g', -1, 64)
	}
	if a.JSON {
		format = "json_object"
	}
	if a.System {
		system = RoleSystem
	}
	var parts []string
	for _, p := range []struct{ name, value, said string }{
		{a.Limit, strconv.Itoa(a.MaxTokens), a.Options.Limit}, {"temperature", temperature, a.Options.Temperature},
		{"response_format", format, a.Options.Format}, {"system", system, a.Options.System},
	} {
		part := p.name + "=" + p.value
		if p.said != "" {
			part += " (said)"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
