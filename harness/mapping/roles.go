package mapping

import (
	"strings"
)

// The words in the names of operations, best first.
var (
	rememberWords = []string{"remember", "add", "store", "save", "create", "write", "insert", "put", "append", "new", "record", "log", "ingest", "upsert", "index", "text", "memories", "documents", "memory"}
	searchWords   = []string{"search", "recall", "query", "find", "retrieve", "lookup", "ask", "get"}
	getWords      = []string{"get", "read", "open", "fetch", "view", "retrieve", "show"}
	deleteWords   = []string{"delete", "forget", "remove"}
	updateWords   = []string{"update", "edit", "replace", "modify", "put"}
	finishWords   = []string{"upsert", "commit", "flush", "refresh", "index", "reindex", "build", "sync"}
)

// The names of arguments by meaning, folded. If a name has several meanings, the order of the roles
// decides.
var (
	textArguments = []string{"content", "text", "memory", "note", "observations", "observation", "body", "data", "document", "fact", "message", "value", "contents",
		"documents", "texts", "memories", "facts", "information", "entry", "knowledge", "notes", "description", "input", "messages"}
	queryArguments = []string{"query", "q", "question", "searchquery", "querytext", "querytexts", "queries", "search", "keywords", "keyword", "terms", "term", "words", "text", "prompt", "input", "pattern"}
	idArguments    = []string{"id", "key", "memoryid", "documentid", "docid", "docids", "noteid", "entryid", "itemid", "contenthash", "hash", "uuid", "ids", "memoryids", "keys", "identifier", "identifiers",
		"name", "names", "path", "filename", "filepath", "filesource", "source", "slug", "entitynames", "permalink", "uri"}
	spaceArguments = []string{"brain", "project", "projectname", "projectid", "userid", "user", "namespace", "collection", "collectionname", "agentid", "space", "workspace", "tenant", "groupid", "bank", "bankid"}
	topKArguments  = []string{"topk", "limit", "k", "n", "nresults", "maxresults", "numresults", "count", "pagesize", "chunktopk", "size", "maxitems"}
	dateArguments  = []string{"date", "timestamp", "createdat", "occurredat", "when", "time"}
	titleArguments = []string{"title", "subject", "heading"}
)

// role is the meaning of an argument, with its names and its placeholder.
type role struct {
	names       []string
	placeholder string
	number      bool // its value may be a number
}

var (
	textRole  = role{names: textArguments, placeholder: "{text}"}
	queryRole = role{names: queryArguments, placeholder: "{query}"}
	idRole    = role{names: idArguments, placeholder: "{id}"}
	nameRole  = role{names: idArguments, placeholder: "{name}"}
	spaceRole = role{names: spaceArguments, placeholder: "{brain}"}
	topKRole  = role{names: topKArguments, placeholder: "{top_k}", number: true}
	dateRole  = role{names: dateArguments, placeholder: "{date}"}
	titleRole = role{names: titleArguments, placeholder: "{title}"}
	// A required title, for documents that may have none.
	anyTitleRole = role{names: titleArguments, placeholder: "Document {name}"}
)

// folded returns an argument name in the form used in the lists.
func folded(name string) string { return strings.Join(wordsIn(strings.ToLower(name)), "") }

// value returns the placeholder in the form that a schema requires: as it is, or as a list of one. An
// id that is a number is the {name}, which is a text, where the schema requires one.
func (r role) value(s schema) (any, bool) {
	if s.is("array") && s.Items != nil && !s.Items.is("array") && r.placeholder != topKRole.placeholder {
		if v, ok := r.value(*s.Items); ok {
			return []any{v}, true
		}
	}
	switch {
	case len(s.Enum) > 0:
		return nil, false
	case s.is("number"), s.is("integer"):
		return r.placeholder, r.number || s.is("string")
	case r.placeholder == topKRole.placeholder:
		return nil, false
	case s.is("string") && r.number:
		return nameRole.placeholder, true
	case s.is("string"), len(s.Type) == 0 && len(s.Properties) == 0:
		return r.placeholder, true
	}
	return nil, false
}
