package xmg

import (
	"context"
	"time"
)

// Grace returns a context that outlives ctx by a second, and is for what must still
// be done when ctx has ended: to deliver what a stopped search has found. It has the
// values of ctx. The caller must call the function that it returns.
func Grace(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		time.AfterFunc(time.Second, func() { cancel(cause) })
	})
	return longer, func() {
		stop()
		cancel(context.Canceled)
	}
}
