// Package route is the routing kernel: it compiles a plain description of
// backends, routes and certificates into an immutable [Table] and answers, against
// that table, every question a request asks on its way through: which route, which
// endpoint, canary or not, mirrored or not, which certificate.
//
// What it guarantees:
//
//   - Total and deterministic. [Compile] never fails: an object it cannot honour is
//     degraded alone and reported as a [Diagnostic]. The same objects in any order
//     give the same table, the same text and the same digest. No tie is unspecified.
//   - Immutable. Nothing reachable from a Table changes after Compile returns, except
//     the atomics of [Counters], [Endpoint] and the balancing cursors. A Table may be
//     used by any number of goroutines, and publishing one is a pointer store.
//   - Identity outlives tables. Counters belong to host + path + path type + backend,
//     balancing state to the backend's name, load to backend name + address. Compile
//     finds them in the tables it is told are kept. There is no registry, so what no
//     kept table names is let go by the garbage collector.
//   - Small generations. What did not change is shared with the kept tables, down to
//     whole hosts; a further generation of a cluster that hardly changed costs a map slot
//     and a pointer per host, a pointer per backend, and what did change.
//   - No allocation in [Table.Match], [Table.Certificate], [Backend.Pick],
//     [Canary.Takes], [Mirror.Samples] and [Counters.Count].
//
// What it never knows: sockets, clocks, loggers, goroutines, http.Request, Kubernetes.
// Random numbers for canary and mirror decisions are arguments.
package route
