// Package prefetch brings memory into the caches of the host before it is used.
//
// It is for models whose data is larger than those caches and that know some work ahead
// what they will need: looks-up in tables of tags, entries of directories. It changes
// nothing, and does nothing where it has no instruction for it or with the build tag
// purego.
package prefetch
