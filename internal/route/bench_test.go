package route

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// cluster describes hosts with as many routes each, every route with a backend of two
// endpoints of its own, and a default backend: 10,001 routes for 1,000 hosts and 10.
func cluster(hosts, paths int) Spec {
	s := Spec{DefaultBackend: "fallback", Backends: []BackendSpec{{Name: "fallback"}}}
	for h := range hosts {
		host := fmt.Sprintf("host-%d.example.com", h)
		for p := range paths {
			name := fmt.Sprintf("ns-%d/service-%d:80", h, p)
			s.Backends = append(s.Backends, BackendSpec{Name: name, Endpoints: []EndpointSpec{
				{Address: fmt.Sprintf("10.%d.%d.%d:8080", h/250, h%250, 2*p%250), Weight: 1},
				{Address: fmt.Sprintf("10.%d.%d.%d:8081", h/250, h%250, 2*p%250), Weight: 1},
			}})
			s.Routes = append(s.Routes, RouteSpec{
				Host: host, Path: clusterPath(p), PathType: Prefix, Backend: name,
				Created: int64(h), Owner: fmt.Sprintf("ns-%d/ingress", h),
			})
		}
		s.Certs = append(s.Certs, CertSpec{Host: host, ID: CertID(h)})
	}
	return s
}

// clusterPath is the path of route p of a host; the first takes everything.
func clusterPath(p int) string {
	if p == 0 {
		return "/"
	}
	return "/" + []string{"api", "static", "users", "orders/v2"}[p%4] + "/" + strconv.Itoa(p)
}

// question is what a request asks of a table.
type question struct{ host, path string }

// questions asks for every route of a cluster, shuffled, one level below its path.
func questions(hosts, paths int) []question {
	var list []question
	for h := range hosts {
		for p := range paths {
			list = append(list, question{fmt.Sprintf("host-%d.example.com", h), clusterPath(p) + "/item"})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// sink keeps results alive.
var sink atomic.Uint64

func benchmarkMatch(b *testing.B, table *Table, asked []question) {
	b.ReportAllocs()
	i, found := 0, 0
	for b.Loop() {
		q := &asked[i]
		if table.Match(q.host, q.path) != nil {
			found++
		}
		if i++; i == len(asked) {
			i = 0
		}
	}
	sink.Add(uint64(found))
}

// BenchmarkMatch asks a table of 1,000 hosts and 10,001 routes: 64 routes over and over,
// as a busy process does; all of them in turn, where most of the time is cache misses;
// and in the ways that take longer.
func BenchmarkMatch(b *testing.B) {
	table, _ := Compile(cluster(1000, 10))
	asked := questions(1000, 10)
	b.Run("hot", func(b *testing.B) { benchmarkMatch(b, table, asked[:64]) })
	b.Run("all", func(b *testing.B) { benchmarkMatch(b, table, asked) })
	b.Run("port", func(b *testing.B) {
		benchmarkMatch(b, table, []question{{"host-7.example.com:8443", "/api/4/item"}})
	})
	b.Run("uppercase", func(b *testing.B) {
		benchmarkMatch(b, table, []question{{"Host-7.Example.COM", "/api/4/item"}})
	})
	b.Run("default", func(b *testing.B) { benchmarkMatch(b, table, []question{{"elsewhere.test", "/"}}) })
	b.Run("paths=1000", func(b *testing.B) {
		table, _ := Compile(cluster(1, 1000))
		benchmarkMatch(b, table, questions(1, 1000))
	})
}

// BenchmarkMatchHosts shows that matching does not grow with the number of hosts. It
// asks for the same 64 routes of each table, so that the caches hold what is asked for
// and the work is compared, not the memory.
func BenchmarkMatchHosts(b *testing.B) {
	for _, hosts := range []int{1, 1000, 10000} {
		b.Run(strconv.Itoa(hosts), func(b *testing.B) {
			table, _ := Compile(cluster(hosts, 10))
			asked := questions(hosts, 10)
			benchmarkMatch(b, table, asked[:min(64, len(asked))])
		})
	}
}

// BenchmarkMatchCount is a match and the count of its request: of 64 routes over and
// over, and of 50,000 in turn, none of which is in the processor's own caches any more
// when it is asked again.
func BenchmarkMatchCount(b *testing.B) {
	for _, hosts := range []int{1000, 5000} {
		table, _ := Compile(cluster(hosts, 10))
		asked := questions(hosts, 10)
		name := "cold"
		if hosts == 1000 {
			name, asked = "hot", asked[:64]
		}
		b.Run(name, func(b *testing.B) {
			sample := Sample{HasLatency: true, Latency: time.Millisecond}
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				q := &asked[i]
				table.Match(q.host, q.path).Counters.Count(0, sample)
				if i++; i == len(asked) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkCountParallel counts on one route from all processors.
func BenchmarkCountParallel(b *testing.B) {
	c := newCounters()
	var worker atomic.Uint32
	b.RunParallel(func(pb *testing.PB) {
		shard := worker.Add(1)
		for pb.Next() {
			c.Count(shard, Sample{HasLatency: true, Latency: time.Millisecond})
		}
	})
}

// BenchmarkCanary is a decision that asks header and cookie and falls to the weight.
func BenchmarkCanary(b *testing.B) {
	c := &Canary{Weight: 20, WeightTotal: 100, Header: "X-Canary", Cookie: "canary"}
	fields := request{"X-Canary": "maybe", "canary=": "maybe"}
	b.ReportAllocs()
	taken := 0
	for b.Loop() {
		if c.Takes(fields, 1<<31) {
			taken++
		}
	}
	sink.Add(uint64(taken))
}

func BenchmarkSNI(b *testing.B) {
	table, _ := Compile(cluster(1000, 1))
	for name, server := range map[string]string{"exact": "host-7.example.com", "uppercase": "HOST-7.example.com", "none": "x.test"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				id, _ := table.Certificate(server)
				sink.Store(uint64(id))
			}
		})
	}
}

func benchmarkPick(b *testing.B, policy Policy) {
	spec := BackendSpec{Name: "web", Policy: policy}
	for i := range 10 {
		spec.Endpoints = append(spec.Endpoints, EndpointSpec{Address: fmt.Sprintf("10.0.0.%d:80", i), Weight: 1 + i%3})
	}
	table, _ := Compile(Spec{Backends: []BackendSpec{spec}})
	web := table.backends[0]
	b.ReportAllocs()
	for b.Loop() {
		e := web.Pick(nil)
		e.Acquire()
		e.Release()
	}
}

func BenchmarkPickRoundRobin(b *testing.B) { benchmarkPick(b, RoundRobin) }
func BenchmarkPickLeastConn(b *testing.B)  { benchmarkPick(b, LeastConn) }
func BenchmarkPickRandom(b *testing.B)     { benchmarkPick(b, Random) }

func BenchmarkNormalizePath(b *testing.B) {
	for name, path := range map[string]string{
		"normal": "/api/v1/users/12345/orders", "dotfile": "/.well-known/acme-challenge/x",
		"escaped": "/api/a%20b/c%2Fd", "dots": "/api/../static/./x",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				normal, _, _ := NormalizePath(path)
				sink.Store(uint64(len(normal)))
			}
		})
	}
}

func BenchmarkNormalizeHost(b *testing.B) {
	for _, host := range []string{"host-7.example.com", "host-7.example.com:8443", "Host-7.example.com"} {
		b.Run(host, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				normal, _ := NormalizeHost(host)
				sink.Store(uint64(len(normal)))
			}
		})
	}
}

// BenchmarkCompile compiles 10,000 routes from nothing, and beside a kept table from
// which one endpoint differs.
func BenchmarkCompile(b *testing.B) {
	spec := cluster(1000, 10)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			Compile(spec)
		}
	})
	b.Run("next", func(b *testing.B) {
		kept, _ := Compile(spec)
		spec.Backends[500].Endpoints[0].Weight = 2
		for b.Loop() {
			Compile(spec, kept)
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	spec := cluster(1000, 10)
	old, _ := Compile(spec)
	spec.Backends[500].Endpoints = spec.Backends[500].Endpoints[:1]
	table, _ := Compile(spec, old)
	for b.Loop() {
		Compare(old, table)
	}
}

// BenchmarkMemoryPerRoute measures what ten kept generations of 10,000 routes hold, each
// with one change: all of it divided by routes and generations, and what a further
// generation costs per route. In the dearest layout every route has a host, a backend
// and a certificate of its own.
func BenchmarkMemoryPerRoute(b *testing.B) {
	for name, hosts := range map[string]int{"hosts=1000": 1000, "hosts=10000": 10000} {
		b.Run(name, func(b *testing.B) {
			const routes, generations = 10000, 10
			for b.Loop() {
				all, further := keptMemory(hosts, routes/hosts, generations)
				b.ReportMetric(all/routes/generations, "B/route/generation")
				b.ReportMetric(further/routes/(generations-1), "B/route/further-generation")
			}
		})
	}
}

// keptMemory returns the heap that the generations hold together, and how much of it
// came after the first.
func keptMemory(hosts, paths, generations int) (all, further float64) {
	start := heap()
	var first float64
	var kept []*Table
	for g := range generations {
		table, _ := Compile(changedCluster(hosts, paths, g), kept...)
		kept = append([]*Table{table}, kept...)
		if g == 0 {
			first = heap() - start
		}
	}
	all = heap() - start
	runtime.KeepAlive(kept)
	return all, all - first
}

// changedCluster is a cluster with strings of its own, as every compile gets them, in
// which by turns an endpoint, a certificate and a host have changed once per generation.
func changedCluster(hosts, paths, generation int) Spec {
	spec := cluster(hosts, paths)
	for g := 1; g <= generation; g++ {
		switch g % 3 {
		case 0:
			spec.Routes[100+g].Host = fmt.Sprintf("moved-%d.example.com", g)
		case 1:
			spec.Backends[100+g].Endpoints[0].Weight = 2
		case 2:
			spec.Certs[200+g].ID += 1 << 32
		}
	}
	return spec
}

// heap returns the bytes that are reachable.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
