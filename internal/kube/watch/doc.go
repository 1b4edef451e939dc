// Package watch keeps a copy of those objects of a cluster that routing depends on.
//
// It reads Ingresses, IngressClasses, Services, EndpointSlices, and Secrets of type
// kubernetes.io/tls, keeps of each what somebody reads, and says when something
// changed that compiling reads, or something that those who write status read.
//
// Guarantees: nothing is said before all kinds were read completely once, but for
// Secrets, if reading them is forbidden for good, and still so after all else was read:
// plain HTTP needs none. Who is refused asks again as soon as any kind is allowed. Once read,
// an object goes away only because the API server said so: while it cannot be reached,
// everything stays as it was. After an outage everything is read anew, so that a
// server that lost its memory is believed too. An object that did not change keeps its
// address. The log hears of an outage once when it begins, once a minute while it
// lasts, and once when it is over.
//
// The package never knows what the objects mean, and writes nothing to the cluster.
package watch
