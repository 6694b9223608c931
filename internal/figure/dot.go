package figure

import "strings"

var escapeDOT = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "")

// QuoteDOT quotes a text for the language of Graphviz, where it is shown as it is,
// with its lines in the middle.
func QuoteDOT(text string) string { return `"` + escapeDOT.Replace(text) + `"` }
