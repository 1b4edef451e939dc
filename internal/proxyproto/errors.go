package proxyproto

// Error says why a header was refused. Every Error is a constant of this package:
// nothing in it comes from the peer, so it can be logged as it is. After an Error the
// connection has to be closed (section 2.1): what was consumed is lost, and the header
// must not be guessed at.
type Error struct {
	// Reason is a fixed word for logs and metrics, such as "NoHeader".
	Reason string
	// Text says in words what is wrong and, by that, what to change.
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// fault is the internal name of an Error; 0 is none.
type fault uint8

const (
	fine fault = iota
	faultNoHeader
	faultBareCR
	faultBareLF
	faultLineTooLong
	faultWords
	faultProtocol
	faultAddress
	faultPort
	faultVersion
	faultCommand
	faultFamily
	faultTransport
	faultLength
	faults // how many there are
)

// refusals holds the Error of each fault.
var refusals = [faults]Error{
	faultNoHeader:    {"NoHeader", "the connection does not begin with a PROXY protocol header"},
	faultBareCR:      {"BareCR", "a CR in the PROXY line is not followed by LF"},
	faultBareLF:      {"BareLF", "the PROXY line ends in a bare LF instead of CRLF"},
	faultLineTooLong: {"LineTooLong", "the PROXY line is longer than 107 bytes"},
	faultWords:       {"InvalidLine", "the PROXY line is not \"PROXY protocol source destination port port\" with single spaces"},
	faultProtocol:    {"UnknownProtocol", "the PROXY line names a protocol other than TCP4, TCP6 and UNKNOWN"},
	faultAddress:     {"InvalidAddress", "an address of the PROXY line is not one of its protocol's family"},
	faultPort:        {"InvalidPort", "a port of the PROXY line is not a decimal number from 0 to 65535 without leading zeros"},
	faultVersion:     {"UnsupportedVersion", "the binary PROXY header has a version other than 2"},
	faultCommand:     {"UnknownCommand", "the PROXY header has a command other than LOCAL and PROXY"},
	faultFamily:      {"UnknownFamily", "the PROXY header has an unknown address family"},
	faultTransport:   {"UnknownTransport", "the PROXY header has an unknown transport protocol"},
	faultLength:      {"ShortLength", "the PROXY header is shorter than the addresses that it announces"},
}

// err returns the fault's Error.
func (f fault) err() error {
	if f == fine {
		return nil
	}
	return &refusals[f]
}
