package certs

import (
	"bytes"
	"encoding/pem"
	"strings"
)

// blocks is what a PEM text holds of interest here.
type blocks struct {
	chain  [][]byte   // DER of the CERTIFICATE blocks, in order
	key    *pem.Block // the first private key, or nil
	others []string   // types of all other blocks, in order
	// brokenChain and brokenKey say that a block was begun that does not decode.
	brokenChain, brokenKey bool
	utf16                  bool
}

const (
	certificateType = "CERTIFICATE"
	keySuffix       = "PRIVATE KEY"
	beginMark       = "-----BEGIN "
)

// readPEM collects the blocks of a text. Whatever stands around them is
// skipped, as RFC 7468, section 5.2, wants it.
//
// The decoder of the standard library steps over a block that it cannot read
// without a word. A chain would then be served with a link missing, and only
// clients that do not know the link would notice; so the blocks that begin are
// counted, and fewer that decode is a fault.
func readPEM(text []byte) blocks {
	var b blocks
	b.utf16 = bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	rest := normalizePEM(text)
	begunChain, begunKeys := countBegun(rest)
	var keys int
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch {
		case block.Type == certificateType:
			b.chain = append(b.chain, block.Bytes)
		case strings.HasSuffix(block.Type, keySuffix):
			keys++
			if b.key == nil {
				b.key = block
			}
		default:
			b.others = append(b.others, block.Type)
		}
	}
	b.brokenChain = len(b.chain) < begunChain
	b.brokenKey = keys == 0 && begunKeys > 0
	return b
}

// countBegun counts the lines that begin a certificate and those that begin a
// private key.
func countBegun(text []byte) (certificates, keys int) {
	for line := range bytes.Lines(text) {
		label, ok := bytes.CutPrefix(line, []byte(beginMark))
		if !ok {
			continue
		}
		switch label := string(label); {
		case label == certificateType+"-----\n":
			certificates++
		case strings.HasSuffix(label, keySuffix+"-----\n"):
			keys++
		}
	}
	return certificates, keys
}

// repairs are made in this order.
var repairs = []struct{ old, new []byte }{
	{[]byte("\xef\xbb\xbf"), nil},
	{[]byte("\r\n"), []byte("\n")},
	{[]byte("\r"), []byte("\n")},
	{[]byte("----------BEGIN "), []byte("-----\n-----BEGIN ")},
}

// normalizePEM undoes what editors, shells and templates do to PEM files and
// what the decoder does not forgive: byte order marks (also in the middle, from
// joined files), CRLF and CR line ends, indented lines, and a BEGIN line glued
// to the END line before it. None of these can be part of a block's contents.
func normalizePEM(text []byte) []byte {
	for _, r := range repairs {
		if bytes.Contains(text, r.old) { // ReplaceAll copies what it leaves as it is, too
			text = bytes.ReplaceAll(text, r.old, r.new)
		}
	}
	var out bytes.Buffer
	out.Grow(len(text) + 1)
	for line := range bytes.Lines(text) {
		out.Write(bytes.TrimSpace(line))
		out.WriteByte('\n')
	}
	return out.Bytes()
}
