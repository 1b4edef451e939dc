package http1

import (
	"bytes"
	"fmt"
	"testing"
)

func BenchmarkRequestHead(b *testing.B) {
	var p Parser
	var h RequestHead
	input := []byte(typicalRequest)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := p.ParseRequest(input, &h); n != len(input) {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkSmallRequestHead(b *testing.B) {
	var p Parser
	var h RequestHead
	input := []byte("GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n")
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := p.ParseRequest(input, &h); n != len(input) {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkResponseHead(b *testing.B) {
	var p Parser
	var h ResponseHead
	input := []byte(typicalResponse)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := p.ParseResponse(input, false, &h); n != len(input) {
			b.Fatal(n, err)
		}
	}
}

// Throughput by chunk size; the payload itself is not touched.
func BenchmarkChunked(b *testing.B) {
	for _, size := range []int{16, 1024, 32 << 10} {
		var input []byte
		for len(input) < 256<<10 {
			input = fmt.Appendf(input, "%x\r\n", size)
			input = append(input, bytes.Repeat([]byte("x"), size)...)
			input = append(input, "\r\n"...)
		}
		input = append(input, "0\r\n\r\n"...)
		b.Run(map[int]string{16: "16B", 1024: "1KiB", 32 << 10: "32KiB"}[size], func(b *testing.B) {
			var c Chunked
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				c.Reset(Limits{})
				if n, err := c.Skip(input); n != len(input) || !c.Done() {
					b.Fatal(n, err)
				}
			}
		})
	}
}
