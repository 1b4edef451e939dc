package admin

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ramjet.dev/ingress/internal/engine"
)

// metricsHandler serves the numbers of the data plane, of the Go runtime and of the
// process. No series has a label whose values depend on the configuration.
func metricsHandler(o Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		&collector{metrics: o.Metrics, controller: o.Controller, version: o.Version, dropped: o.AccessLogDropped},
		newNumbers(o.Numbers),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// collector reads the numbers at the moment of a scrape. It keeps none itself.
type collector struct {
	metrics    *engine.Metrics
	controller Controller
	version    string
	dropped    func() uint64 // nil = no access log
}

// desc describes a metric of the interface; name is without its prefix.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ramjet_"+name, help, labels, nil)
}

var (
	requestsDesc    = desc("requests_total", "Requests answered, by the class of the status.", "code")
	connectionsDesc = desc("active_connections", "Client connections open now.")
	latencyDesc     = desc("upstream_latency_seconds", "Time from sending a request upstream to the first byte of its answer.")
	generationDesc  = desc("route_table_generation", "Number of the generation that serves.")
	pinnedDesc      = desc("pinned", "1 while a generation is pinned.")
	expiryDesc      = desc("tls_earliest_expiry_timestamp_seconds", "When the first of the serving certificates expires, as Unix time; absent without certificates.")
	droppedDesc     = desc("access_log_dropped_total", "Lines that the access log lost.")
	buildDesc       = desc("build_info", "1, with the version of the program and of Go.", "version", "go_version")
)

// counters are the metrics that are one plain counter.
var counters = []struct {
	desc *prometheus.Desc
	of   func(*engine.Metrics) *engine.Counter
}{
	{desc("route_misses_total", "Requests that no route and no default backend took."), func(m *engine.Metrics) *engine.Counter { return &m.RouteMisses }},
	{desc("upstream_connect_failures_total", "Attempts to connect to an endpoint that failed."), func(m *engine.Metrics) *engine.Counter { return &m.ConnectFailures }},
	{desc("upstream_timeouts_total", "Requests ended because their upstream made no progress."), func(m *engine.Metrics) *engine.Counter { return &m.UpstreamTimeouts }},
	{desc("upstream_retries_total", "Second and later attempts for a request."), func(m *engine.Metrics) *engine.Counter { return &m.UpstreamRetries }},
	{desc("upstream_truncated_total", "Responses that broke off in the middle of their body."), func(m *engine.Metrics) *engine.Counter { return &m.UpstreamTruncated }},
	{desc("mirrored_total", "Copies of requests that a mirror answered."), func(m *engine.Metrics) *engine.Counter { return &m.Mirrored }},
	{desc("mirror_dropped_total", "Copies dropped because the queue for mirrors was full."), func(m *engine.Metrics) *engine.Counter { return &m.MirrorDropped }},
	{desc("mirror_skipped_total", "Requests not copied because their body is too large."), func(m *engine.Metrics) *engine.Counter { return &m.MirrorSkipped }},
	{desc("mirror_failures_total", "Copies that no mirror answered."), func(m *engine.Metrics) *engine.Counter { return &m.MirrorFailures }},
	{desc("tls_handshakes_total", "TLS handshakes completed."), func(m *engine.Metrics) *engine.Counter { return &m.Handshakes }},
	{desc("tls_handshake_failures_total", "TLS handshakes failed."), func(m *engine.Metrics) *engine.Counter { return &m.HandshakeFailures }},
	{desc("engine_unsupported_h2c_total", "Requests refused because the engine cannot dial HTTP/2."), func(m *engine.Metrics) *engine.Counter { return &m.UnsupportedH2C }},
	{desc("engine_unsupported_grpc_total", "gRPC requests refused because their backend is not declared as gRPC."), func(m *engine.Metrics) *engine.Counter { return &m.UnsupportedGRPC }},
}

// statusClasses are the labels of the engine's request counters, by index. What
// is no status at all has none.
var statusClasses = [...]string{1: "1xx", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsDesc, connectionsDesc, latencyDesc, generationDesc, pinnedDesc, expiryDesc, droppedDesc, buildDesc} {
		out <- d
	}
	for _, m := range counters {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n *engine.Counter, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n.Load()), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for i := 1; i < len(statusClasses); i++ {
		counter(requestsDesc, &c.metrics.Requests[i], statusClasses[i])
	}
	for _, m := range counters {
		counter(m.desc, m.of(c.metrics))
	}
	gauge(connectionsDesc, float64(c.metrics.ActiveConnections.Load()))
	out <- latency(&c.metrics.Latency)
	dropped := 0.0
	if c.dropped != nil {
		dropped = float64(c.dropped())
	}
	out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, dropped)
	gauge(buildDesc, 1, c.version, runtime.Version())
	c.collectState(gauge)
}

// collectState adds what the serving generation says.
func (c *collector) collectState(gauge func(*prometheus.Desc, float64, ...string)) {
	state := c.controller.State()
	pinned := 0.0
	if state.Pinned != nil {
		pinned = 1
	}
	gauge(pinnedDesc, pinned)
	gauge(generationDesc, float64(state.Serving))
	if g, ok := state.ServingGeneration(); ok {
		if at, ok := g.Certs.EarliestExpiry(); ok {
			gauge(expiryDesc, float64(at.Unix()))
		}
	}
}

// latency copies a histogram.
func latency(h *engine.Histogram) prometheus.Metric {
	cumulative, count, sum := h.Snapshot()
	buckets := make(map[float64]uint64, len(cumulative))
	for i, n := range cumulative {
		buckets[engine.HistogramBounds[i]] = n
	}
	return prometheus.MustNewConstHistogram(latencyDesc, count, sum, buckets)
}
