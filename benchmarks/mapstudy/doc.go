// Package mapstudy has the tables and figures of ARES about mappings of neural
// networks, and studies that the paper does not have: optimisers against the exhaustive
// optimum and against each other, ablations, sensitivity to what the paper leaves open.
// Figures of the paper stand beside ours and are read by no search.
package mapstudy
