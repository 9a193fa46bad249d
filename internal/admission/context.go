package admission

import (
	"context"
	"sync"
)

type passKey struct{}

// pass is what the context of a request carries to the place where its work begins.
type pass struct {
	gate   *Gate
	tenant string
	// arrived is called once the work is at the gate, or will not come.
	arrived func()
}

// With returns a context whose work passes the gate, for a tenant. Until it is there, the work is on
// its way, and may wait for other things, such as a database. The caller must call end once it has
// passed the gate or will not come.
func With(ctx context.Context, g *Gate, tenant string) (on context.Context, end func()) {
	g.expect(tenant, 1)
	p := pass{g, tenant, sync.OnceFunc(func() { g.expect(tenant, -1) })}
	return context.WithValue(ctx, passKey{}, p), p.arrived
}

// Enter is Gate.Enter for the gate and the tenant of the context. Without them, it admits the work
// at once.
func Enter(ctx context.Context) (release func(), err error) {
	p, ok := ctx.Value(passKey{}).(pass)
	if !ok {
		return func() {}, nil
	}
	p.arrived()
	return p.gate.Enter(ctx, p.tenant)
}
