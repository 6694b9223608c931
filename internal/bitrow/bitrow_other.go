//go:build !amd64 || purego

package bitrow

func twins() []Set { return nil }
