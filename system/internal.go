package system

import (
	"context"
	"errors"
)

// ErrInternal is wrapped by the errors of checks of the machine against itself: a program
// that does not compute its operation, words and bits that differ, a plan that uses rows
// twice. Such an error is a defect of this module, and ends the run.
var ErrInternal = errors.New("system: internal check failed")

// internalError is an [ErrInternal] for a reason.
type internalError struct{ err error }

func (e *internalError) Error() string        { return ErrInternal.Error() + ": " + e.err.Error() }
func (e *internalError) Unwrap() error        { return e.err }
func (e *internalError) Is(target error) bool { return target == ErrInternal }

// internal makes an error an ErrInternal, but for the end of a context.
func internal(err error) error {
	if err == nil || errors.Is(err, ErrInternal) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &internalError{err}
}
