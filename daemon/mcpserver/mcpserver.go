// Package mcpserver serves the memory_* tools (spec 4.1) over the Model Context Protocol: on
// standard input and output, and over streamable HTTP. It uses a daemon through its client, so a
// tool works like the HTTP API, with the same access.
//
// The definitions of the tools are in schemas. Arguments are checked against them before anything
// is sent to the daemon. Texts of documents, pages and models are data: tools return them, and
// never act on them.
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/client"
	"evalctl/daemon/fetch"
	"evalctl/daemon/protocol"
)

// Config configures a Server. Client is required.
type Config struct {
	// Client is the daemon that the tools use. Its Timeout must leave time for a model.
	Client *client.Client
	// DefaultBrain is the id, slug or name of the brain of calls that name none
	// (SVC_MCP_DEFAULT_BRAIN, spec 1). Empty means the one that the daemon names, else the first
	// that it lists.
	DefaultBrain string
	// Fetcher fetches pages for daemons that cannot. Default: one that reaches only public
	// addresses.
	Fetcher *fetch.Fetcher
	// Files are the files that memory_ingest_file may read on stdio; nil means none. The caller
	// closes Files.
	Files *Files
	// Version is the version that the server reports.
	Version string
	// Logger receives failures of the server itself. Nil discards them.
	Logger *slog.Logger
}

// Server serves the tools. It is safe for concurrent use.
type Server struct {
	client       *client.Client
	defaultBrain string
	fetcher      *fetch.Fetcher
	files        *Files
	version      string
	logger       *slog.Logger
}

// New returns a Server. It sends nothing.
func New(cfg Config) (*Server, error) {
	if cfg.Client == nil {
		return nil, errors.New("mcp server: Client is required")
	}
	if cfg.Fetcher == nil {
		cfg.Fetcher = fetch.New(fetch.Options{})
	}
	return &Server{
		client: cfg.Client, defaultBrain: cfg.DefaultBrain, fetcher: cfg.Fetcher, files: cfg.Files, version: cfg.Version,
		logger: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}, nil
}

// call is one call of a tool.
type call struct {
	*Server
	// local permits using this machine, its files and its network, because the caller is the user
	// of the process.
	local bool
	args  arguments
	// progress sends a piece of the answer to the client. It does nothing if the call has no
	// progress token.
	progress func(delta string) error
}

// reply is the result of a tool: payload is the structured content, text its short summary.
type reply struct {
	payload any
	text    string
}

// tools are the implementations of the definitions.
var tools = map[string]func(context.Context, call) (reply, error){
	"memory_search":       search,
	"memory_recall":       recall,
	"memory_remember":     remember,
	"memory_ingest_file":  ingestFile,
	"memory_ingest_url":   ingestURL,
	"memory_extract":      extract,
	"memory_reflect":      reflect,
	"memory_consolidate":  consolidate,
	"memory_create_brain": createBrain,
	"memory_list_brains":  listBrains,
	"memory_ask":          ask,
}

// mcpServer returns a server of the protocol, for one connection or for any number of HTTP
// requests. It calls settle between the last progress of a call and the reply.
func (s *Server) mcpServer(local bool, settle func(context.Context)) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "evalctl", Version: s.version},
		// The capabilities follow from methods. Nil would advertise logging. There are no prompts
		// and no resources, and clients ask for their lists. The lists never change.
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		}},
	)
	for name, d := range definitions() {
		run := tools[name]
		server.AddTool(d.tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			progress, sent := progressOf(ctx, req)
			result := s.serve(ctx, req, d.input, run, call{Server: s, local: local, progress: progress})
			if *sent > 0 {
				settle(ctx)
			}
			return result, nil
		})
	}
	return server
}

// serve runs one call. Its failure is a result, so that the model that called can read why.
func (s *Server) serve(
	ctx context.Context, req *mcp.CallToolRequest, input *schema,
	run func(context.Context, call) (reply, error), c call,
) (result *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("panic", "tool", req.Params.Name, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			result = failure(&toolError{Code: protocol.CodeInternal, Message: "the tool failed: see the log"})
		}
	}()
	ctx, cancel := withRequest(ctx)
	defer cancel()
	args, ignored, err := parseArguments(req.Params.Arguments, input)
	if err != nil {
		return failure(err)
	}
	c.args = args
	r, err := run(ctx, c)
	if err != nil {
		return failure(err)
	}
	content := []mcp.Content{&mcp.TextContent{Text: r.text}}
	if len(ignored) > 0 {
		content = append(content, &mcp.TextContent{Text: input.ignoring(ignored)})
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: r.payload}
}

// progressOf returns call.progress (spec 6.4), and how many notifications it has sent. Its errors
// come from the connection.
func progressOf(ctx context.Context, req *mcp.CallToolRequest) (send func(string) error, sent *int) {
	sent = new(int)
	token := tokenOf(req.Params.GetProgressToken())
	if token == nil {
		return func(string) error { return nil }, sent
	}
	return func(delta string) error {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(*sent), Message: delta,
		})
		*sent++
		return err
	}, sent
}
