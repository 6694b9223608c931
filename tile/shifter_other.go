//go:build !amd64 || purego

package tile

func vectorMovers() []mover { return nil }
