//go:build !amd64 || purego

package sram

func simdTwins() []twin { return nil }
