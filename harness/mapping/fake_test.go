package mapping

import (
	"context"
	"testing"
)

// fakeCaller is a service whose calls are a function, so that its time can be that of a bubble.
type fakeCaller func(ctx context.Context, o *operation, values map[string]any) (callReply, error)

func (f fakeCaller) call(ctx context.Context, o *operation, values map[string]any) (callReply, error) {
	return f(ctx, o, values)
}
func (fakeCaller) alive(context.Context) error { return nil }
func (fakeCaller) close() error                { return nil }

// muteCaller is a service that never answers whether it is alive.
type muteCaller struct{ fakeCaller }

func (muteCaller) alive(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// fakeService is a service with a mapping whose calls are a function.
func fakeService(tb testing.TB, mapping string, call fakeCaller) *Service {
	tb.Helper()
	return &Service{mapping: parsed(tb, mapping), main: call, brains: map[string]*brain{}}
}

// says is a reply of one text.
func says(text string) (callReply, error) { return callReply{texts: []string{text}}, nil }
