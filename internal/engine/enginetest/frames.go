package enginetest

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

// rawH2 is an HTTP/2 client by the letter of RFC 9113: it sends the fields and
// frames it is told to, valid or not, and reports what comes back for a stream,
// codes included. Windows are as large as the protocol allows unless a test
// changes them.
type rawH2 struct {
	net.Conn
	t testing.TB

	writing sync.Mutex
	encoder *hpack.Encoder
	block   bytes.Buffer

	monitor  // guards the following
	streams  map[uint32]*h2Answer
	settings map[uint16]uint32
	goAway   bool
	ended    bool
	next     uint32
}

// h2Answer is what came for one stream so far.
type h2Answer struct {
	interim []map[string][]string // heads of 1xx
	head    map[string][]string
	body    string
	trailer map[string][]string
	done    bool // END_STREAM or RST_STREAM came
	reset   string
}

func (a *h2Answer) status() string { return first(a.head[":status"]) }

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// Frame types and flags of RFC 9113 sections 6 and 7.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
	flagPadded     = 8

	settingStreams         = 3
	settingWindow          = 4
	settingHeaderList      = 6
	settingExtendedConnect = 8
)

var errorCodes = []string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
	"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
	"ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}

// DialH2 connects with prior knowledge; window is the room for a response body
// on each stream, 0 for all there is.
func (p *Proxy) DialH2(window uint32) *rawH2 {
	p.T.Helper()
	c, err := net.Dial("tcp", p.HTTP)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.rawH2(c, window)
}

// DialH2TLS is DialH2 over TLS.
func (p *Proxy) DialH2TLS(serverName string) *rawH2 {
	p.T.Helper()
	c, err := tls.Dial("tcp", p.HTTPS, &tls.Config{ServerName: serverName, RootCAs: p.Roots, NextProtos: []string{"h2"}})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.rawH2(c, 0)
}

const everything = 1<<31 - 1

func (p *Proxy) rawH2(c net.Conn, window uint32) *rawH2 {
	h := &rawH2{Conn: c, t: p.T, streams: map[uint32]*h2Answer{}, next: 1}
	h.encoder = hpack.NewEncoder(&h.block)
	c.SetDeadline(time.Now().Add(patience))
	if window == 0 {
		window = everything
	}
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	h.frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, settingWindow}, window))
	h.frame(frameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, everything-65535))
	var reader sync.WaitGroup
	reader.Go(h.read)
	p.T.Cleanup(func() { c.Close(); reader.Wait() })
	h.wait(p.T, "the settings of the server", func() bool { return h.settings != nil })
	return h
}

func (h *rawH2) frame(kind, flags byte, stream uint32, payload []byte) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	return h.frameLocked(kind, flags, stream, payload)
}

func (h *rawH2) frameLocked(kind, flags byte, stream uint32, payload []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	_, err := h.Write(append(b, payload...))
	return err
}

// window lets n more bytes of a response body come.
func (h *rawH2) window(stream, n uint32) {
	h.frame(frameWindowUpdate, 0, stream, binary.BigEndian.AppendUint32(nil, n))
}

// open starts a request with these fields, given as "name: value", and returns
// its stream. last says that no body follows.
func (h *rawH2) open(last bool, fields ...string) (stream uint32) {
	h.change(func() {
		stream = h.next
		h.next += 2
		h.streams[stream] = &h2Answer{}
	})
	h.headers(stream, last, fields)
	return stream
}

// headers sends a field section.
func (h *rawH2) headers(stream uint32, last bool, fields []string) {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.block.Reset()
	for _, f := range fields {
		i := strings.Index(f[1:], ": ") + 1
		h.encoder.WriteField(hpack.HeaderField{Name: f[:i], Value: f[i+2:]})
	}
	flags := byte(flagEndHeaders)
	if last {
		flags |= flagEndStream
	}
	h.frameLocked(frameHeaders, flags, stream, h.block.Bytes())
}

// data sends a part of a body, which must fit into one frame and the window.
func (h *rawH2) data(stream uint32, last bool, b string) {
	var flags byte
	if last {
		flags = flagEndStream
	}
	h.frame(frameData, flags, stream, []byte(b))
}

// request is the fields of a request for a path.
func h2Request(method, authority, path string, more ...string) []string {
	return append([]string{":method: " + method, ":scheme: http", ":authority: " + authority, ":path: " + path}, more...)
}

// get asks for a path and waits for the whole answer.
func (h *rawH2) get(authority, path string, more ...string) *h2Answer {
	h.t.Helper()
	return h.answer(h.open(true, h2Request("GET", authority, path, more...)...))
}

// answer waits for the end of a stream, or of the connection.
func (h *rawH2) answer(stream uint32) (a *h2Answer) {
	h.t.Helper()
	h.until(stream, "the end of the answer", func(a *h2Answer) bool { return a.done || h.ended })
	h.monitor.read(func() {
		now := *h.streams[stream] // a reset may follow the end
		a = &now
	})
	return a
}

// until waits for something to be true of a stream.
func (h *rawH2) until(stream uint32, what string, holds func(*h2Answer) bool) {
	h.t.Helper()
	h.wait(h.t, fmt.Sprintf("%s on stream %d", what, stream), func() bool { return holds(h.streams[stream]) })
}

// read takes frames until the connection ends.
func (h *rawH2) read() {
	defer h.change(func() { h.ended = true })
	decoder := hpack.NewDecoder(4096, nil)
	var head [9]byte
	for {
		if _, err := io.ReadFull(h.Conn, head[:]); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(head[:4]) >> 8
		payload := make([]byte, size)
		if _, err := io.ReadFull(h.Conn, payload); err != nil {
			return
		}
		flags, stream := head[4], binary.BigEndian.Uint32(head[5:])
		switch head[3] {
		case frameSettings:
			if flags&flagAck == 0 {
				h.frame(frameSettings, flagAck, 0, nil)
				h.change(func() { h.settings = parseSettings(payload) })
			}
		case framePing:
			if flags&flagAck == 0 {
				h.frame(framePing, flagAck, 0, payload)
			}
		case frameGoAway:
			h.change(func() { h.goAway = true })
		case frameHeaders, frameData, frameReset:
			h.change(func() { h.receive(decoder, head[3], flags, h.streams[stream], payload) })
		}
	}
}

func parseSettings(b []byte) map[uint16]uint32 {
	all := map[uint16]uint32{}
	for ; len(b) >= 6; b = b[6:] {
		all[binary.BigEndian.Uint16(b)] = binary.BigEndian.Uint32(b[2:])
	}
	return all
}

func (h *rawH2) receive(decoder *hpack.Decoder, kind, flags byte, a *h2Answer, payload []byte) {
	if a == nil {
		return
	}
	switch kind {
	case frameReset:
		code := binary.BigEndian.Uint32(payload)
		a.done, a.reset = true, strconv.Itoa(int(code))
		if int(code) < len(errorCodes) {
			a.reset = errorCodes[code]
		}
		return
	case frameData:
		if flags&flagPadded != 0 {
			payload = payload[1 : len(payload)-int(payload[0])]
		}
		a.body += string(payload)
	case frameHeaders:
		a.section(decoder, payload)
	}
	a.done = a.done || flags&flagEndStream != 0
}

// section files a field section; the suite's answers fit into one frame each.
func (a *h2Answer) section(decoder *hpack.Decoder, block []byte) {
	fields, err := decoder.DecodeFull(block)
	if err != nil {
		a.done, a.reset = true, err.Error()
		return
	}
	section := map[string][]string{}
	for _, f := range fields {
		section[f.Name] = append(section[f.Name], f.Value)
	}
	switch status := first(section[":status"]); {
	case status == "":
		a.trailer = section
	case status < "2":
		a.interim = append(a.interim, section)
	default:
		a.head = section
	}
}
