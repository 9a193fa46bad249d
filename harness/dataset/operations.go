package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
)

// Op is a kind of operation.
type Op string

// The operations on a brain before a question is asked.
const (
	OpPut         Op = "put"         // a document is written, or replaced
	OpAppend      Op = "append"      // text is added to a document, which need not exist
	OpDelete      Op = "delete"      // a document is deleted
	OpRename      Op = "rename"      // a document gets another path
	OpRemember    Op = "remember"    // a document is written whose path the service may choose
	OpMessage     Op = "message"     // a message is added to a session
	OpReflect     Op = "reflect"     // a session ends
	OpForget      Op = "forget"      // a session is deleted, together with everything derived from it
	OpConsolidate Op = "consolidate" // the brain is tidied
	OpRestart     Op = "restart"     // the daemon is restarted
)

// Operation is one step before a question is asked. Only the fields of its Op are set.
type Operation struct {
	Op Op
	// Brain is the brain to change, empty for the question's.
	Brain string
	// Path and To, the new path of OpRename, are relative to the corpus.
	Path, To string
	// Text is a document's content, the text to append, or a message.
	Text string
	// Title and Date, which may be empty, belong to a document. Date is also the time of a message.
	Title, Date string
	// Session is the session of a message or reflection. Role and Speaker belong to a message.
	Session, Role, Speaker string
	// Source is protocol.SourceExtract to make the service extract facts from the remembered text.
	Source string
}

// opFields are the required and optional fields of each operation besides op.
var opFields = map[Op]struct{ required, optional []string }{
	OpPut:         {[]string{"path", "text"}, []string{"title", "date", "brain"}},
	OpAppend:      {[]string{"path", "text"}, []string{"brain"}},
	OpDelete:      {[]string{"path"}, []string{"brain"}},
	OpRename:      {[]string{"path", "to"}, []string{"brain"}},
	OpRemember:    {[]string{"text"}, []string{"path", "title", "source", "brain"}},
	OpMessage:     {[]string{"session", "text"}, []string{"role", "speaker", "date", "brain"}},
	OpReflect:     {[]string{"session"}, []string{"brain"}},
	OpForget:      {[]string{"session"}, []string{"brain"}},
	OpConsolidate: {nil, []string{"brain"}},
	OpRestart:     {},
}

// ops are all operations, in the order used in messages.
var ops = []Op{
	OpPut, OpAppend, OpDelete, OpRename, OpRemember, OpMessage, OpReflect, OpForget, OpConsolidate,
	OpRestart,
}

// maxOperations limits the operations before one question.
const maxOperations = 1000

// String returns the operation for messages.
func (o Operation) String() string {
	switch {
	case o.To != "":
		return fmt.Sprintf("%s %s to %s", o.Op, o.Path, o.To)
	case o.Path != "":
		return fmt.Sprintf("%s %s", o.Op, o.Path)
	case o.Session != "":
		return fmt.Sprintf("%s in session %s", o.Op, o.Session)
	}
	return string(o.Op)
}

// Document returns the document written by a put or remember, with the date as front matter and the
// title as the first heading, like a corpus line.
func (o Operation) Document() []byte {
	return markdownOf(o.Title, o.Date, &o.Text)
}

// parseOperations parses the value of the key before.
func parseOperations(value json.RawMessage) ([]Operation, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if value[0] != '[' {
		return nil, fmt.Errorf(`field "before" must be an array of operations, not %s`, jsonKind(value))
	}
	var list []Operation
	for element := range jsonobj.Elements(value) {
		o, err := parseOperation(element)
		if err != nil {
			return nil, fmt.Errorf("before[%d]: %w", len(list), err)
		}
		if list = append(list, o); len(list) > maxOperations {
			return nil, fmt.Errorf("before has more than %d operations; load documents as a corpus", maxOperations)
		}
	}
	return list, nil
}

func parseOperation(value json.RawMessage) (o Operation, err error) {
	members, err := jsonobj.Parse(value)
	if err != nil {
		return o, fmt.Errorf(`an operation is an object such as {"op": "put", "path": "a.md", "text": "…"}, not %s`,
			jsonKind(value))
	}
	var op string
	texts := map[string]*string{
		"op": &op, "brain": &o.Brain, "path": &o.Path, "to": &o.To, "text": &o.Text, "title": &o.Title,
		"date": &o.Date, "session": &o.Session, "role": &o.Role, "speaker": &o.Speaker, "source": &o.Source,
	}
	var given []string
	for _, m := range members {
		key := string(m.Key)
		if slices.Contains(given, key) {
			return o, fmt.Errorf("%.40q is given twice", key)
		}
		given = append(given, key)
		into := texts[key]
		if into == nil {
			return o, unknownKey(key, texts)
		}
		text, ok := jsonobj.String(m.Value)
		if !ok {
			return o, fmt.Errorf("%q must be a string, not %s", key, jsonKind(m.Value))
		}
		if *into = text; strings.TrimSpace(text) == "" {
			return o, fmt.Errorf("%q is blank; fill it or leave it out", key)
		}
	}
	o.Op = Op(op)
	if err := o.checkFields(given); err != nil {
		return o, err
	}
	if o.Op == OpMessage && o.Role == "" {
		o.Role = protocol.RoleUser
	}
	return o, o.check()
}

func unknownKey(key string, known map[string]*string) error {
	for name := range known {
		if misspelt(letters(key), letters(name)) {
			return fmt.Errorf("unknown field %.40q: did you mean %q?", key, name)
		}
	}
	return fmt.Errorf("unknown field %.40q; an operation has op and, depending on it, brain, path, to, text, title, "+
		"date, session, role, speaker and source", key)
}

// checkFields returns an error for an unknown operation, a missing field, or a field of another
// operation.
func (o Operation) checkFields(given []string) error {
	fields, known := opFields[o.Op]
	switch {
	case o.Op == "":
		return errors.New(`"op" is missing; it must be one of ` + opNames())
	case !known:
		for _, op := range ops {
			if misspelt(letters(string(o.Op)), string(op)) {
				return fmt.Errorf("unknown operation %.40q: did you mean %q?", o.Op, op)
			}
		}
		return fmt.Errorf("unknown operation %.40q; it must be one of %s", o.Op, opNames())
	}
	for _, key := range fields.required {
		if !slices.Contains(given, key) {
			return fmt.Errorf("%s needs %q", o.Op, key)
		}
	}
	for _, key := range given {
		if key != "op" && !slices.Contains(fields.required, key) && !slices.Contains(fields.optional, key) {
			return fmt.Errorf("%s has no %q; leave it out", o.Op, key)
		}
	}
	return nil
}

func opNames() string {
	var names []string
	for _, op := range ops {
		names = append(names, string(op))
	}
	return strings.Join(names, ", ")
}

// check checks the values of the fields.
func (o Operation) check() error {
	if o.Brain != "" {
		if err := checkBrain(o.Brain); err != nil {
			return err
		}
	}
	for _, p := range []string{o.Path, o.To} {
		if p == "" {
			continue
		}
		if err := CheckDocPath(p); err != nil {
			return err
		}
		if len([]rune(p))+len(result.SeedRoot) > protocol.MaxDocumentPath || path.Clean(p) != p {
			return fmt.Errorf("path %.40q is not canonical, or longer than %d characters", p, protocol.MaxDocumentPath-len(result.SeedRoot))
		}
	}
	switch {
	case o.Source != "" && o.Source != protocol.SourceExtract:
		return fmt.Errorf("unknown source %.40q; the only one is %q", o.Source, protocol.SourceExtract)
	case o.Op == OpRename && o.Path == o.To:
		return fmt.Errorf("%s is renamed to itself", o.Path)
	case len(o.Text) > protocol.MaxWriteBytes/2:
		return fmt.Errorf("the text has %d bytes and the limit is %d; load it as a corpus", len(o.Text), protocol.MaxWriteBytes/2)
	case o.Role != "" && !slices.Contains(messageRoles, o.Role):
		return fmt.Errorf("unknown role %.40q; it must be one of %s", o.Role, strings.Join(messageRoles, ", "))
	case len(o.Session) > 128 || strings.ContainsFunc(o.Session, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("a session id has at most 128 characters and no control characters")
	}
	if o.Date != "" {
		if _, err := parseDate(o.Date); err != nil {
			return fmt.Errorf(`"date": %w`, err)
		}
	}
	return nil
}

var messageRoles = []string{protocol.RoleUser, protocol.RoleAssistant, protocol.RoleSystem, protocol.RoleTool}

// parseAsOf returns the day in as_of, which sets the date of the question.
func parseAsOf(day, questionDate string) (string, error) {
	if day == "" {
		return questionDate, nil
	}
	if questionDate != "" {
		return "", errors.New(`"as_of" and "question_date" both say when the question is asked; remove one`)
	}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "", fmt.Errorf(`"as_of": %q is not a date (2025-03-14)`, day)
	}
	return day, nil
}
