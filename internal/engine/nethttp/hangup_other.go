//go:build !linux

package nethttp

// hungUp reports whether the client has closed the connection, which only reading
// tells here.
func (c *counted) hungUp() bool { return false }
