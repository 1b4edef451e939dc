package main

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkApply is a million events of which each has a line in the ledger, which is
// the most work that events can be.
func BenchmarkApply(b *testing.B) {
	plan, err := io.ReadAll(&exits{n: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(plan)))
	b.ReportAllocs()
	for b.Loop() {
		if status := run([]string{"apply", "-"}, streams{in: bytes.NewReader(plan), out: io.Discard, err: io.Discard}); status != exitOK {
			b.Fatal(status)
		}
	}
	b.ReportMetric(float64(b.N)*1_000_000/b.Elapsed().Seconds(), "events/s")
}
