package route

// Kind says which list of a [Spec] a [Diagnostic] is about.
type Kind uint8

const (
	// KindSpec is the Spec as a whole, for example its default backend.
	KindSpec Kind = iota
	// KindBackend is Spec.Backends.
	KindBackend
	// KindRoute is Spec.Routes.
	KindRoute
	// KindCert is Spec.Certs.
	KindCert
)

var kindWords = [...]string{"spec", "backend", "route", "cert"}

// String returns the kind in lower case.
func (k Kind) String() string { return word("Kind", kindWords[:], uint8(k)) }

// The fixed reason words of a [Diagnostic].
const (
	ReasonInvalidBackend    = "InvalidBackend"    // no name, or a policy or protocol that does not exist: not compiled
	ReasonDuplicateBackend  = "DuplicateBackend"  // the name is taken: this one is ignored
	ReasonInvalidEndpoint   = "InvalidEndpoint"   // not host:port: that endpoint is left out
	ReasonDuplicateEndpoint = "DuplicateEndpoint" // one address with two weights: the larger counts
	ReasonInvalidWeight     = "InvalidWeight"     // an endpoint's weight out of range: it drains
	ReasonInvalidHost       = "InvalidHost"       // the route or certificate is left out
	ReasonInvalidPath       = "InvalidPath"       // the route is left out
	ReasonInvalidRegex      = "InvalidRegex"      // the route is left out
	ReasonDuplicateRoute    = "DuplicateRoute"    // an older route has host, path and type: this one is left out
	ReasonUnknownBackend    = "UnknownBackend"    // the route answers 503; a canary or mirror is left out
	ReasonInvalidCanary     = "InvalidCanary"     // the canary, or the part the message names, is left out
	ReasonInvalidMirror     = "InvalidMirror"     // the mirror is left out
	ReasonDuplicateCert     = "DuplicateCert"     // an older claim holds the host: this one is ignored
)

// Diagnostic reports something in a [Spec] that could not be honoured. The object it
// names is degraded, nothing else is.
type Diagnostic struct {
	Kind Kind
	// Index is the position in that list of the Spec; -1 for KindSpec.
	Index int
	// Reason is one of the Reason words.
	Reason string
	// Message is one line, in words a user can act on.
	Message string
}

// String returns the diagnostic on one line, for logs and golden files.
func (d Diagnostic) String() string { return d.Reason + ": " + d.Message }
