package translate

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// The reason words of a [Warning]. Events and logs show them, so none is ever renamed.
const (
	ReasonInvalidAnnotation       = "InvalidAnnotation"       // a value that does not parse; its default is used
	ReasonUnsupportedAnnotation   = "UnsupportedAnnotation"   // a key, or a value of a known key, that is not honoured
	ReasonCanaryInert             = "CanaryInert"             // a canary that nothing sends requests to
	ReasonCanaryOrphan            = "CanaryOrphan"            // a canary without a production route
	ReasonCanaryConflict          = "CanaryConflict"          // another canary has the route
	ReasonMirrorRejected          = "MirrorRejected"          // nothing is mirrored
	ReasonBackendProtocolConflict = "BackendProtocolConflict" // another Ingress decides the protocol of the Service port
	ReasonHostConflict            = "HostConflict"            // another Ingress has the certificate of a host
	ReasonPathConflict            = "PathConflict"            // another rule has host, path and path type
	ReasonSecretUnusable          = "SecretUnusable"          // hosts are served without the Secret's certificate
	ReasonServiceUnresolved       = "ServiceUnresolved"       // requests are answered 503
	ReasonIngressRejected         = "IngressRejected"         // the Ingress, or the rule that is named, is not served
)

// Ref names the object that a [Warning] is about.
type Ref struct {
	// Kind is Ingress, or Secret or Service where a flag names one.
	Kind            string
	Namespace, Name string
	// UID is that of the object, "" where a flag names an object.
	UID types.UID
}

// String returns "Kind namespace/name".
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Warning says that something in an object could not be honoured.
type Warning struct {
	Object Ref
	// Reason is one of the Reason words.
	Reason string
	// Message is one line: what, where, and what to do. What it quotes is escaped, and
	// its length is bounded.
	Message string
}

// String returns the warning on one line.
func (w Warning) String() string { return w.Object.String() + ": " + w.Reason + ": " + w.Message }

// compareWarnings is the order in which warnings are returned.
func compareWarnings(a, b Warning) int {
	return cmp.Or(
		strings.Compare(a.Object.Kind, b.Object.Kind),
		strings.Compare(a.Object.Namespace, b.Object.Namespace),
		strings.Compare(a.Object.Name, b.Object.Name),
		strings.Compare(string(a.Object.UID), string(b.Object.UID)),
		strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Message, b.Message),
	)
}

// warnings collects.
type warnings struct{ list []Warning }

func (w *warnings) add(object Ref, reason, message string) {
	w.list = append(w.list, Warning{object, reason, message})
}

func (w *warnings) sorted() []Warning {
	slices.SortFunc(w.list, compareWarnings)
	return slices.Compact(w.list)
}
