package sram

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkText reads and writes a program of a million instructions.
func BenchmarkText(b *testing.B) {
	p := mixProgram(1000000)
	var text bytes.Buffer
	if _, err := p.WriteTo(&text); err != nil {
		b.Fatal(err)
	}
	b.Run("Parse", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := Parse(bytes.NewReader(text.Bytes()), "bench.bsp"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(p.Instrs))*float64(b.N)/b.Elapsed().Seconds(), "instrs/s")
	})
	b.Run("WriteTo", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := p.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(p.Instrs))*float64(b.N)/b.Elapsed().Seconds(), "instrs/s")
	})
	b.Run("Compile", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile(p); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(p.Instrs))*float64(b.N)/b.Elapsed().Seconds(), "instrs/s")
	})
}
