package proxyproto

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// FuzzNext: however the bytes are cut the verdict is the same, and a slow twin that
// sees them all at once agrees on what is a header and what it says.
func FuzzNext(f *testing.F) {
	for _, file := range caseFiles(f) {
		cases, err := readCases(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases {
			if len(c.input) < 1<<10 {
				f.Add(c.input)
			}
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		got := understand(input)
		var every []int
		for cut := range len(input) {
			every = append(every, cut)
		}
		for _, cuts := range [][]int{every, {len(input) / 3}, {len(input) / 2, len(input) - len(input)/5}} {
			if pieces := understand(input, cuts...); pieces != got {
				t.Errorf("%q cut at %d: %s, at once: %s", input, cuts, pieces, got)
			}
		}
		want := twin(input)
		if want == "" {
			// The twin does not know why there is no header, or not yet.
			var p Parser
			if _, _ = p.Next(input); p.Done() {
				t.Errorf("%q: %s, the twin finds none", input, got)
			}
		} else if got != want {
			t.Errorf("%q: %s, the twin: %s", input, got, want)
		}
	})
}

// twin describes the whole header at the start of input, "" if there is none.
func twin(input []byte) string {
	if strings.HasPrefix(string(input), signature) {
		return twinBinary(input)
	}
	return twinLine(input)
}

var line = regexp.MustCompile(`^PROXY (?:(UNKNOWN)(?: [^\r\n]*)?|TCP(4|6) ([^ \r\n]+) ([^ \r\n]+) (0|[1-9][0-9]*) (0|[1-9][0-9]*))\r\n`)

func twinLine(input []byte) string {
	// As Latin-1, because a regular expression takes bytes that are not UTF-8 for one
	// character or another.
	var text strings.Builder
	for _, b := range input[:min(len(input), 107)] {
		text.WriteRune(rune(b))
	}
	m := line.FindStringSubmatch(text.String())
	if m == nil {
		return ""
	}
	length := len([]rune(m[0]))
	if m[1] == "UNKNOWN" {
		return describe(Header{Local: true}, length)
	}
	source, err1 := twinAddress(m[3], m[5], m[2] == "6")
	destination, err2 := twinAddress(m[4], m[6], m[2] == "6")
	if err1 != nil || err2 != nil {
		return ""
	}
	return describe(Header{Source: source, Destination: destination}, length)
}

func twinAddress(address, port string, six bool) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is6() != six || a.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("not of the family: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), err
}

func twinBinary(input []byte) string {
	if len(input) < 16 {
		return ""
	}
	command, family := input[12], input[13]
	length := int(binary.BigEndian.Uint16(input[14:]))
	block := input[16:]
	if len(block) < length || command != 0x20 && command != 0x21 {
		return ""
	}
	block = block[:length]
	if command == 0x20 {
		return describe(Header{Local: true}, 16+length)
	}
	switch family {
	case 0x00, 0x01, 0x02, 0x10, 0x20, 0x30:
		return describe(Header{Local: true}, 16+length)
	case 0x31, 0x32:
		if length >= 216 {
			return describe(Header{Local: true}, 16+length)
		}
	case 0x11, 0x12:
		if length >= 12 {
			return twinAddresses(block[:4], block[4:8], block[8:], 16+length)
		}
	case 0x21, 0x22:
		if length >= 36 {
			return twinAddresses(block[:16], block[16:32], block[32:], 16+length)
		}
	}
	return ""
}

func twinAddresses(source, destination, ports []byte, length int) string {
	s, _ := netip.AddrFromSlice(source)
	d, _ := netip.AddrFromSlice(destination)
	return describe(Header{
		Source:      netip.AddrPortFrom(s.Unmap(), uint16(ports[0])<<8|uint16(ports[1])),
		Destination: netip.AddrPortFrom(d.Unmap(), uint16(ports[2])<<8|uint16(ports[3])),
	}, length)
}

// FuzzAddress: our parsers of addresses and netip's agree, but for zones.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"192.0.2.1", "::", "::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::ffff:192.0.2.1",
		"1::2::3", "1:::2", "fe80::1%eth0", "00001::", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "01.2.3.4", "1.2.3", ":1.2.3.4",
		"::1.2.3.4.5", "::1.2.3.4:5", "1.2.3.4:5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		theirs, err := netip.ParseAddr(text)
		if err != nil || theirs.Zone() != "" {
			theirs = netip.Addr{}
		}
		for _, six := range []bool{false, true} {
			want := netip.Addr{}
			if theirs.IsValid() && theirs.Is6() == six {
				want = theirs.Unmap()
			}
			ours, ok := parseAddress([]byte(text), six)
			if ok != want.IsValid() || ok && ours != want {
				t.Errorf("%q: %v, %v; netip has %v, %v", text, ours, ok, theirs, err)
			}
		}
	})
}

// FuzzRoundTrip: what a sender writes is read as it was meant, with whatever follows
// left alone.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{192, 0, 2, 1}, []byte{198, 51, 100, 2}, uint16(1), uint16(2), []byte("TLVs"), []byte("GET"))
	f.Add([]byte("0123456789abcdef"), []byte("fedcba9876543210"), uint16(0), uint16(65535), []byte{}, []byte{'\n'})
	f.Fuzz(func(t *testing.T, source, destination []byte, sourcePort, destinationPort uint16, tlvs, rest []byte) {
		s, ok1 := netip.AddrFromSlice(source)
		d, ok2 := netip.AddrFromSlice(destination)
		if !ok1 || !ok2 || s.Is4() != d.Is4() || len(tlvs) > 60000 {
			return
		}
		want := Header{
			Source:      netip.AddrPortFrom(s.Unmap(), sourcePort),
			Destination: netip.AddrPortFrom(d.Unmap(), destinationPort),
		}
		from, to := netip.AddrPortFrom(s, sourcePort), netip.AddrPortFrom(d, destinationPort)
		for _, header := range [][]byte{writeLine(from, to), writeBinary(from, to, tlvs)} {
			var p Parser
			n, err := p.Next(append(header[:len(header):len(header)], rest...))
			if err != nil || n != len(header) || !p.Done() || p.Header() != want {
				t.Errorf("%q: %+v, %d, %v", header, p.Header(), n, err)
			}
		}
	})
}

// writeLine writes a header of version 1.
func writeLine(source, destination netip.AddrPort) []byte {
	family := "TCP6"
	if source.Addr().Is4() {
		family = "TCP4"
	}
	return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, source.Addr(), destination.Addr(), source.Port(), destination.Port())
}

// writeBinary writes a header of version 2.
func writeBinary(source, destination netip.AddrPort, tlvs []byte) []byte {
	family := byte(0x21)
	if source.Addr().Is4() {
		family = 0x11
	}
	var block []byte
	block = append(block, source.Addr().AsSlice()...)
	block = append(block, destination.Addr().AsSlice()...)
	block = binary.BigEndian.AppendUint16(block, source.Port())
	block = binary.BigEndian.AppendUint16(block, destination.Port())
	block = append(block, tlvs...)
	header := append([]byte(signature), 0x21, family)
	header = binary.BigEndian.AppendUint16(header, uint16(len(block)))
	return append(header, block...)
}
