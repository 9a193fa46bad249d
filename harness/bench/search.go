package bench

import "context"

func (b *Bench) search(context.Context) error { return nil }
func (b *Bench) chaos(context.Context) error  { return nil }
