package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// check returns an error for a mapping that cannot work.
func (f *file) check(m *Mapping) error {
	if m.Name == "" {
		return fmt.Errorf("%s has no name, which results record; add name: to it", f.path)
	}
	if m.remember == nil && m.search == nil && m.ask == nil {
		return fmt.Errorf("%s maps nothing; a mapping has remember and search", f.path)
	}
	for _, o := range m.operations() {
		if err := f.checkOperation(m, o); err != nil {
			return err
		}
	}
	if err := f.checkSecrets(m.headers); err != nil {
		return err
	}
	switch {
	case m.Brains == ByArgument && slices.ContainsFunc(m.operations(), func(o *operation) bool {
		return (o == m.remember || o == m.search || o == m.ask) && !o.sends("brain")
	}):
		return fmt.Errorf("%s: brains: argument needs {brain} in the arguments of remember and search", f.path)
	case m.Brains == ByReset && m.reset == nil:
		return fmt.Errorf("%s: brains: reset needs the operation reset", f.path)
	case m.Brains == PerProcess && m.Transport == HTTP:
		return fmt.Errorf("%s: brains: process is for MCP servers that are started", f.path)
	case m.writes < 1:
		return fmt.Errorf("%s: writes must be at least 1, the number of texts that are written at a time", f.path)
	}
	return nil
}

func (m *Mapping) operations() []*operation {
	all := []*operation{
		m.health, m.remember, m.turns, m.update, m.finish, m.ready.call(), m.search, m.ask, m.get, m.remove, m.create, m.reset,
	}
	return slices.DeleteFunc(all, func(o *operation) bool { return o == nil })
}

func (f *file) checkOperation(m *Mapping, o *operation) error {
	switch {
	case m.Transport == MCP && o.tool == "":
		return f.errorf(o.at, "%s has no tool", o.name)
	case m.Transport == MCP && (o.path != nil || o.query != nil || o.headers != nil):
		return f.errorf(o.at, "%s has a path, a query or headers, which are for transport: http", o.name)
	case m.Transport == HTTP && o.tool != "":
		return f.errorf(o.at, "%s has a tool, which is for transport: mcp", o.name)
	case m.Transport == HTTP && o.path == nil:
		return f.errorf(o.at, "%s has no path", o.name)
	case m.Transport == HTTP && !strings.HasPrefix(o.path.source, "/"):
		return f.errorf(o.path.at, "the path of %s must begin with /", o.name)
	case m.Transport == HTTP && o.path.literally("?"):
		return f.errorf(o.path.at, "the path of %s has a ?: put what follows below query:, where values are escaped", o.name)
	case m.Transport == HTTP && o.path.literally("#"):
		return f.errorf(o.path.at, "the path of %s has a #, and what follows would not be sent: remove it, or write %%23", o.name)
	case m.Transport == HTTP && (o.query.uses("home") || o.arguments.uses("home") || o.path.uses("home")):
		return f.errorf(o.at, "%s sends {home}, which only an MCP server that is started has", o.name)
	case o.limit < 0 || o.texts < 0 || o.topK < 0:
		return f.errorf(o.at, "a limit of %s is negative", o.name)
	case (o == m.search || o == m.ask) && o.reply.text == nil && !o.reply.plain:
		return f.errorf(o.at, "the reply of %s has no text: say where the texts are, such as text: $.content, "+
			"or format: text", o.name)
	case (o == m.search || o == m.ask) && !o.sends("query"):
		return f.errorf(o.at, "%s does not send {query}", o.name)
	case o == m.remember && !o.sendsText("text", "texts", "document"):
		return f.errorf(o.at, "remember sends neither {text}, {texts} nor {document}")
	case o == m.remember && o.several() && slices.ContainsFunc(documentNames, o.whole):
		return f.errorf(o.at, "remember sends several texts in a call, so that {id}, {text} and the like belong in item; or send {ids} and {texts}")
	case o == m.turns && !o.sendsText("text", "texts"):
		return f.errorf(o.at, "turns send neither {text} nor {texts}")
	case o == m.update && !o.sendsText("text", "document"):
		return f.errorf(o.at, "update sends neither {text} nor {document}")
	case o.topK > 0 && !o.sends("top_k"):
		return f.errorf(o.at, "%s has top_k, the largest that may be sent, and does not send {top_k}", o.name)
	case o.sends("items") != (o.item != nil):
		return f.errorf(o.at, "%s needs both item, which says what one text is, and {items}, the list of them", o.name)
	case o.sends("cursor") != (o.reply.next != nil):
		return f.errorf(o.at, "%s needs both {cursor} and next in its reply, which says where the cursor of the next page is", o.name)
	}
	return f.checkSecrets(o.headers)
}
