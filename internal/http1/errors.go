package http1

// Error says why a message was refused. Every Error is a constant of this
// package: nothing in it comes from the message, so it can be logged and sent to
// a client as it is. After an Error the place where the next message would begin
// is unknown: the connection has to be closed.
type Error struct {
	// Status is what a client is answered: 400, 414, 417, 431, 501 or 505 for a
	// request, 502 for a response. The chunked decoder does not know which side it
	// serves and says 400; for the body of a response read 502.
	Status int
	// Reason is a fixed word for logs and metrics, such as "BareLF".
	Reason string
	// Text says in words what is wrong and, by that, what to change.
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// fault is the internal name of an Error; 0 is none. The scanner is shared by
// requests, responses and trailers, so it names a fault and the side that asked
// turns it into its Error.
type fault uint8

const (
	fine fault = iota
	faultBareLF
	faultBareCR
	faultControl
	faultFold
	faultSpaceBeforeColon
	faultFieldName
	faultNoColon
	faultHeadTooLarge
	faultTooManyFields
	faultLineTooLong
	faultRequestLine
	faultMethod
	faultTarget
	faultUserinfo
	faultScheme
	faultVersion
	faultStatusLine
	faultNoHost
	faultTwoHosts
	faultHost
	faultLength
	faultTwoLengths
	faultLengthAndCoding
	faultCoding
	faultUnknownCoding
	faultCodingOn10
	faultExpect
	faultOptions
	faultTrailerField
	faultChunkSize
	faultChunkExtension
	faultChunkLineTooLong
	faultChunkEnd
	faultChunkOverhead
	faultTrailerTooLarge
	faults // how many there are
)

// requestErrors holds the Error of each fault in a request or a body.
var requestErrors = [faults]Error{
	faultBareLF:           {400, "BareLF", "a line ends in a bare LF instead of CRLF"},
	faultBareCR:           {400, "BareCR", "a CR is not followed by LF"},
	faultControl:          {400, "ControlByte", "the head contains a NUL or another control byte"},
	faultFold:             {400, "ObsoleteFold", "a header line begins with a space or a tab (obsolete line folding)"},
	faultSpaceBeforeColon: {400, "SpaceBeforeColon", "a header name is followed by white space before its colon"},
	faultFieldName:        {400, "InvalidFieldName", "a header name is empty or contains a character that is not allowed in it"},
	faultNoColon:          {400, "MissingColon", "a header line has no colon"},
	faultHeadTooLarge:     {431, "HeadTooLarge", "the header block is larger than the configured limit"},
	faultTooManyFields:    {431, "TooManyFields", "the header block has too many header lines"},
	faultLineTooLong:      {414, "RequestLineTooLong", "the request line is longer than the configured limit"},
	faultRequestLine:      {400, "InvalidRequestLine", "the request line is not \"method target HTTP/version\" with single spaces"},
	faultMethod:           {400, "InvalidMethod", "the method is empty or contains a character that is not allowed in it"},
	faultTarget:           {400, "InvalidTarget", "the request target is not a valid path or URL"},
	faultUserinfo:         {400, "UserinfoInTarget", "the request target contains a user name or password"},
	faultScheme:           {400, "UnsupportedScheme", "the request target is a URL that is neither http nor https"},
	faultVersion:          {505, "UnsupportedVersion", "only HTTP/1.0 and HTTP/1.1 are spoken here"},
	faultStatusLine:       {400, "InvalidStatusLine", "the status line is not \"HTTP/version status reason\""},
	faultNoHost:           {400, "MissingHost", "an HTTP/1.1 request needs a Host header"},
	faultTwoHosts:         {400, "DuplicateHost", "there is more than one Host header"},
	faultHost:             {400, "InvalidHost", "the host is not a valid name or address with an optional port"},
	faultLength:           {400, "InvalidContentLength", "Content-Length is not a single decimal number"},
	faultTwoLengths:       {400, "DuplicateContentLength", "there is more than one Content-Length header"},
	faultLengthAndCoding:  {400, "LengthAndEncoding", "Content-Length and Transfer-Encoding exclude each other"},
	faultCoding:           {400, "InvalidTransferEncoding", "Transfer-Encoding has to be exactly \"chunked\""},
	faultUnknownCoding:    {501, "UnsupportedTransferEncoding", "the only transfer coding supported is \"chunked\""},
	faultCodingOn10:       {400, "EncodingOnHTTP10", "Transfer-Encoding is not allowed in HTTP/1.0"},
	faultExpect:           {417, "UnknownExpectation", "the only expectation supported is \"100-continue\""},
	faultOptions:          {400, "TooManyConnectionOptions", "Connection lists more than 64 options"},
	faultTrailerField:     {400, "ForbiddenTrailer", "Trailer announces a field that delimits messages"},
	faultChunkSize:        {400, "InvalidChunkSize", "a chunk size is not 1 to 15 hexadecimal digits"},
	faultChunkExtension:   {400, "InvalidChunkExtension", "a chunk extension contains a control byte"},
	faultChunkLineTooLong: {400, "ChunkLineTooLong", "a chunk extension is longer than the limit"},
	faultChunkEnd:         {400, "InvalidChunkEnd", "the data of a chunk is not followed by CRLF"},
	faultChunkOverhead:    {400, "ChunkOverhead", "the body has far more chunk extensions than data"},
	faultTrailerTooLarge:  {400, "TrailerTooLarge", "the trailer section is larger than the limit"},
}

// responseErrors is requestErrors as seen from the upstream side: whatever a
// backend got wrong, its client is answered 502.
var responseErrors = func() (all [faults]Error) {
	all = requestErrors
	for i := range all {
		all[i].Status = 502
	}
	return all
}()

// request returns the fault's Error for a request or a chunked body.
func (f fault) request() error {
	if f == fine {
		return nil
	}
	return &requestErrors[f]
}

// response returns the fault's Error for a response.
func (f fault) response() error {
	if f == fine {
		return nil
	}
	return &responseErrors[f]
}
