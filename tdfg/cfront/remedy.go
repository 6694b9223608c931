package cfront

import (
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// remedies are what to write instead of what is refused, by a part of the reason.
var remedies = []struct{ why, remedy string }{
	{"subscript that is not affine", "gather the elements into an array of their own in a loop before it, which is a stream"},
	{"has an element in several iterations", "make the loop over what the subscripts add up to the outermost one, or sum into an array with a dimension for each loop"},
	{"taken at strides in loop", "the loop around it becomes one of the host; where only a part is computed, loop over all of it with a condition on the index"},
	{"taken at strides, from", "give the sizes values with -D, or write the size of the array in terms of the bounds of the loops"},
	{"taken at strides in a loop that may", "give the sizes values with -D"},
	{"subscripts of more loops than dimensions", "copy these elements to an array of their own in a loop before it, which is a stream"},
	{"has step", "give the sizes values with -D, so that the number of iterations is known, or count iterations, as in A[2*i]"},
	{"more loops than dimensions", "the outermost one becomes a loop of the host: exchange loops so that it is the one with fewest iterations"},
	{"bounds that vary", "the loop around it becomes one of the host; where only a part is computed, loop over all of it with a condition on the index"},
	{"is used as a number", "give the kernel an array of the indices, or the sizes values with -D"},
	{"used while it is reduced", "reduce in a loop of its own, and use the value after it"},
	{"would have to lie in other dimensions", "exchange the loops, or copy the array with its dimensions exchanged first"},
	{"has a value in a part of the loops only", "assign it in all iterations, or write its value where it is used"},
	{"the same everywhere", "multiply by the number of iterations instead"},
	{"may be outside of it where a condition does not hold", "make the condition one on indices, or the array larger by a border"},
	{"may have no iteration", "give the sizes values with -D"},
}

// remedy returns what to write instead of a statement that is refused.
func remedy(s stmt, why string, reassociate bool) string {
	if strings.Contains(why, "goes from iteration to iteration") {
		if a := floatSum(s); a != nil && !reassociate {
			return "add reassociate to the pragma, if the sums may be of any order"
		}
		if strings.HasPrefix(why, "variable ") {
			return "declare the variable inside of the loop, if iterations need nothing of each other"
		}
		return "write to another array, or copy the part that is read first; of several loops, the one that carries it must be the outermost"
	}
	for _, r := range remedies {
		if strings.Contains(why, r.why) {
			return r.remedy
		}
	}
	return ""
}

// floatSum finds a sum or product of floating-point numbers in a statement.
func floatSum(s stmt) (found *assign) {
	walkStmts([]stmt{s}, nil, func(s stmt, _ []*loop) {
		a, ok := s.(*assign)
		if !ok || !a.target.typ.Float() || a.value.kind != opExpr {
			return
		}
		switch a.value.op {
		case scalar.Add, scalar.Sub, scalar.Mul:
			if a.value.args[0].same(a.target) || a.value.args[1].same(a.target) {
				found = a
			}
		}
	})
	return found
}
