package reactor

import (
	"crypto/tls"
	"errors"

	"ramjet.dev/ingress/internal/engine"
)

// readHello reads the ClientHello of a connection that has to speak TLS: what it
// offers decides who goes on.
func (c *conn) readHello() (more bool) {
	x := c.exchange()
	for {
		if !x.in.empty() {
			switch readHello(x.in.bytes()) {
			case helloH2:
				c.handOver()
				return false
			case helloOther:
				c.shake()
				return false
			}
		}
		if !c.readable {
			break
		}
		n, how := c.sock.read(x.in.room(&c.loop.buffers))
		if how == blocked {
			break
		}
		if how != moved {
			c.close()
			return false
		}
		x.in.end += n
	}
	c.rest()
	return false
}

// shake begins the handshake, beside the loop: it is a lot of computing.
func (c *conn) shake() {
	c.state = stShaking
	c.tls = newSession(c, c.loop.engine.tlsConfig, append([]byte(nil), c.x.in.bytes()...))
	c.dropExchange()
	c.tls.shake(c.shaken)
	c.shaking()
}

// shaking moves the bytes of a handshake.
func (c *conn) shaking() {
	if c.state != stShaking {
		return
	}
	for c.readable {
		n, how := c.sock.read(c.loop.scratch)
		if how == moved && !c.tls.bring(c.loop.scratch[:n]) {
			break
		}
		if how == ended || how == failed {
			c.tls.stop() // what it has may be enough
		}
		if how != moved {
			break
		}
	}
	c.tls.flush()
}

// shaken is called when the handshake has ended.
func (c *conn) shaken(err error) {
	if c.state != stShaking {
		return
	}
	if err != nil {
		c.notShaken(err)
		return
	}
	e := c.loop.engine
	e.metrics.Handshakes.Inc()
	c.tls.flush()
	c.tls.shaken = true
	c.state = stHead
	c.timer.at = 0
	c.loop.wheel.set(&c.timer, after(c.loop.now, e.options.HeaderTimeout))
	if c.loop.draining {
		c.close()
		return
	}
	c.run()
}

func (c *conn) notShaken(err error) {
	e := c.loop.engine
	e.log.Debug("TLS handshake failed", "peer", c.peerText, "error", err)
	c.tls.flush() // the alert
	var notTLS tls.RecordHeaderError
	if errors.As(err, &notTLS) && notTLS.Conn != nil && looksLikeHTTP(notTLS.RecordHeader) {
		e.metrics.HandshakeFailures.Inc()
		c.tls = nil
		c.state = stHead
		c.last(engine.ReplyHTTPOnHTTPS.AppendHTTP1(nil))
		return
	}
	c.close()
}

func looksLikeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		return true
	}
	return false
}
