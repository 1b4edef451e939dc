package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/accesslog"
	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/staticfile"
	"ramjet.dev/ingress/internal/upstream"
	collector "ramjet.dev/ingress/internal/webhook"
)

// daemon is everything that runs. Every part is owned here and waited for in
// stop.
type daemon struct {
	log     *slog.Logger
	pools   *upstream.Pools
	engine  dataPlane
	admin   *admin.Server
	webhook *collector.Webhook // nil without --audit-webhook
	access  *accesslog.Log     // nil without --access-log
	expiry  *expiryWatch
	demo    *demo    // nil without --demo
	cluster *cluster // nil outside of Kubernetes mode

	running sync.WaitGroup // the control loop and the expiry watch
	cancel  context.CancelFunc
}

// start checks everything that can be refused, then starts all parts; it returns
// once the sockets are served, and in static mode once the one generation is on the
// wire. After an error nothing is left running.
func start(c config, logger *slog.Logger, stdout io.Writer) (d *daemon, err error) {
	d = &daemon{log: logger}
	var token string
	if c.adminTokenFile != "" {
		if token, err = admin.LoadToken(c.adminTokenFile); err != nil {
			return nil, fmt.Errorf("--admin-token-file: %w", err)
		}
	}
	first, err := d.source(c)
	if err != nil {
		d.closeSource()
		return nil, err
	}
	sockets, err := listen(c, c.kubernetes() || first.Certs.Len() > 0)
	if err != nil {
		d.closeSource()
		return nil, err
	}
	if c.auditWebhook != "" {
		if d.webhook, err = collector.New(collector.Options{URL: c.auditWebhook, Logger: logger}); err != nil {
			sockets.close()
			d.closeSource()
			return nil, err
		}
	}
	d.access = newAccessLog(c, stdout, logger)
	if err := d.run(c, first, sockets, token); err != nil {
		sockets.close()
		return nil, err
	}
	d.banner(c, first, sockets)
	if d.demo != nil {
		d.demo.explain(stdout, sockets)
	}
	return d, nil
}

// source finds out where the configuration comes from: a cluster, which is read later,
// or a file, of which the one generation is made at once.
func (d *daemon) source(c config) (first generation.Compiled, err error) {
	if c.kubernetes() {
		d.cluster, err = newCluster(c, d.log)
		return first, err
	}
	file, err := d.load(c)
	if err != nil {
		return first, err
	}
	return compile(file)
}

// closeSource ends what source made.
func (d *daemon) closeSource() {
	d.demo.close()
	d.cluster.close()
}

// load reads the route file, or makes that of the demo.
func (d *daemon) load(c config) (*staticfile.File, error) {
	if !c.demo {
		return staticfile.Load(c.staticRoutes)
	}
	demo, err := newDemo()
	if err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	d.demo = demo
	return demo.file(), nil
}

// compile makes the one generation of static mode, number 0.
func compile(file *staticfile.File) (generation.Compiled, error) {
	table, diagnostics := route.Compile(file.Spec)
	var problems []error
	for _, one := range diagnostics {
		problems = append(problems, errors.New(one.Message))
	}
	set, _, broken := certs.Build(file.Certs)
	for _, one := range broken {
		problems = append(problems, errors.New(one.Message))
	}
	return generation.Compiled{Table: table, Certs: set}, errors.Join(problems...)
}

// run starts the parts, the one that others need first.
func (d *daemon) run(c config, first generation.Compiled, sockets listeners, token string) (err error) {
	var live generation.Live
	var metrics engine.Metrics
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())

	d.pools = upstream.New(upstreamOptions(c))
	d.expiry = newExpiryWatch(d.log, time.Now)
	sinks := []audit.Sink{audit.LogSink(d.log)}
	if d.webhook != nil {
		sinks = append(sinks, d.webhook)
	}
	var ctl *control.Control
	if d.cluster != nil {
		sinks = append(sinks, d.cluster.prepare(func() (uint64, bool) { s := ctl.State(); return s.Serving, s.Ready() }, d.log))
	}
	ctl = control.New(control.Options{
		History: generation.NewHistory(c.historySize),
		Live:    &live,
		Sinks:   sinks,
		OnApplied: func(kept []generation.Generation, serving *route.Table) {
			d.pools.Retain(endpointsOf(serving))
			d.expiry.applied(serving, live.Certs())
		},
	})
	d.running.Go(func() { _ = ctl.Run(ctx) })
	d.running.Go(func() { d.expiry.run(ctx) })
	if d.cluster != nil {
		d.cluster.run(ctx, &d.running, ctl)
	} else {
		ctl.Offer(first)
		_, _ = ctl.WaitHandled(ctx, first.Number) // ends only with ctx otherwise
	}

	options := engineOptions(c)
	if d.access != nil {
		options.Done = recordTo(d.access)
	}
	if d.engine, err = newEngine(c, options, &live, d.pools, &metrics, d.log); err != nil {
		d.stopRest()
		return err
	}
	if sockets.http != nil {
		d.engine.Serve(sockets.http)
	}
	if sockets.https != nil {
		d.engine.ServeTLS(sockets.https)
	}
	if sockets.admin != nil {
		d.admin = admin.NewServer(admin.NewHandler(admin.Options{
			Controller: ctl, Metrics: &metrics, Token: token, Version: version, AccessLogDropped: d.dropped,
			Numbers: d.cluster.numbers(),
		}), d.log)
		d.running.Go(func() { d.serveAdmin(sockets.admin) })
	}
	return nil
}

// dropped counts the lines that the access log lost.
func (d *daemon) dropped() uint64 {
	if d.access == nil {
		return 0
	}
	return d.access.Dropped()
}

// serveAdmin runs until stop shuts the admin listener down.
func (d *daemon) serveAdmin(l net.Listener) {
	if err := d.admin.Serve(l); err != nil {
		d.log.Error("the admin interface ended", "error", err)
	}
}

// endpointsOf are the addresses that a table names.
func endpointsOf(t *route.Table) []string {
	var all []string
	for _, b := range t.Backends() {
		for _, e := range b.Endpoints {
			all = append(all, e.Address)
		}
	}
	return all
}

func upstreamOptions(c config) upstream.Options {
	return upstream.Options{
		ConnectTimeout:  c.connectTimeout,
		IdlePerEndpoint: c.upstreamPoolIdle,
		ResponseTimeout: c.responseTimeout,
		MaxHeaderBytes:  c.maxHeaderBytes,
	}
}

func engineOptions(c config) engine.Options {
	return engine.Options{
		ResponseTimeout:    c.responseTimeout,
		StreamIdle:         c.streamIdleTimeout,
		TunnelIdle:         c.tunnelIdleTimeout,
		HeaderTimeout:      c.clientHeaderTimeout,
		ClientIdle:         c.clientIdleTimeout,
		HandshakeTimeout:   engine.HandshakeTimeout,
		ProxyProtocol:      c.proxyProtocol,
		MaxHeaderBytes:     c.maxHeaderBytes,
		MaxConnectAttempts: c.maxConnectAttempts,
		Trust:              engine.NewTrust(c.trustedProxies),
		Underscores:        c.underscoresInHeaders,
		MirrorMaxBody:      int64(c.mirrorMaxBody),

		ProxyProtocolTimeout: c.proxyProtocolTimeout,
	}
}

// stop drains the data plane until grace ends, then ends everything else. The
// admin listener goes last: it can be asked during a drain.
func (d *daemon) stop(grace context.Context) {
	if err := d.engine.Shutdown(grace); err != nil {
		d.log.Warn("the grace is over", "error", err)
	}
	if d.admin != nil {
		d.part("the admin interface", d.admin.Shutdown)
	}
	d.stopRest()
}

// stopRest ends what the data plane and the admin listener stand on.
func (d *daemon) stopRest() {
	d.cancel()
	d.running.Wait()
	var last sync.WaitGroup
	if d.webhook != nil {
		last.Go(func() { d.part("the audit webhook", d.webhook.Close) })
	}
	if d.access != nil {
		last.Go(func() { d.part("the access log", d.access.Close) })
	}
	last.Wait()
	d.pools.Close()
	d.closeSource()
}

// partPatience is how long each part may take to finish what it has begun, after the
// data plane has: an orchestrator that asked for the stop is waiting.
const partPatience = 2 * time.Second

// part ends one part, and says so if it had to be cut.
func (d *daemon) part(name string, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), partPatience)
	defer cancel()
	if err := end(ctx); err != nil {
		d.log.Warn("cut what was not finished in time", "part", name, "error", err)
	}
}

// banner says what was started, in one record. What a cluster has to serve is known
// later, and stands in the audit record of the first generation.
func (d *daemon) banner(c config, first generation.Compiled, s listeners) {
	attrs := []any{
		"version", version, "engine", c.engine,
		"http", where(s.http), "https", where(s.https), "admin", where(s.admin),
	}
	if d.cluster != nil {
		attrs = append(attrs, d.cluster.describe(c)...)
	} else {
		endpoints := 0
		for _, b := range first.Table.Backends() {
			endpoints += len(b.Endpoints)
		}
		attrs = append(attrs, "backends", len(first.Table.Backends()), "endpoints", endpoints,
			"routes", len(first.Table.Routes()), "certificates", first.Certs.Len())
	}
	d.log.Info("serving", attrs...)
	if s.admin != nil && c.adminTokenFile == "" {
		d.log.Warn("whoever reaches the admin port can roll back: give --admin-token-file to ask for a token", "admin", where(s.admin))
	}
}
