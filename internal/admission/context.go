package admission

import "context"

type passKey struct{}

// pass is what the context of a request carries to the place where its work begins.
type pass struct {
	gate   *Gate
	tenant string
}

// With returns a context whose work passes the gate, for a tenant.
func With(ctx context.Context, g *Gate, tenant string) context.Context {
	return context.WithValue(ctx, passKey{}, pass{g, tenant})
}

// Enter is Gate.Enter for the gate and the tenant of the context. Without them, it admits the work
// at once.
func Enter(ctx context.Context) (release func(), err error) {
	p, ok := ctx.Value(passKey{}).(pass)
	if !ok {
		return func() {}, nil
	}
	return p.gate.Enter(ctx, p.tenant)
}
