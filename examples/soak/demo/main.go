//go:build linux

// Command demo is a service to try soak on. It answers HTTP on one port of loopback
// and stops like a good service: after SIGTERM nobody new gets in, and requests in
// flight are finished. What else it does depends on its version:
//
//	v2  dies a while after it was first found ready (--crash-after)
//	v4  never gets ready: it runs, and does not listen
//	v5  hangs: it takes connections and never answers, and SIGTERM does not impress it
//
// All others are good.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	version := flag.String("version", "v1", "decides what is wrong with it")
	port := flag.Int("port", 8081, "where it listens, on 127.0.0.1")
	crashAfter := flag.Duration("crash-after", 2*time.Second, "how long v2 lives once it was found ready")
	flag.Parse()
	log.SetFlags(0)

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	asked := func() {} // when somebody asks whether it is ready
	switch *version {
	case "v2":
		asked = sync.OnceFunc(func() {
			time.AfterFunc(*crashAfter, func() { log.Fatalf("%s: out of luck", *version) })
		})
	case "v4":
		log.Printf("%s: warming up, for ever", *version)
		<-stop.Done()
		return
	case "v5":
		signal.Ignore(syscall.SIGTERM)
	}
	if err := serve(stop, *version, *port, asked); err != nil {
		log.Fatal(err)
	}
}

// serve answers until it is asked to stop.
func serve(stop context.Context, version string, port int, asked func()) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		asked()
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%s on port %d\n", version, port)
	})
	var handler http.Handler = mux
	if version == "v5" {
		handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // its listeners cannot be shut down, see takeLast
	l, err := plain.Listen(stop, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	listener := l.(*net.TCPListener)
	log.Printf("%s: listening on %s", version, listener.Addr())
	unanswered := newFresh()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ConnState: unanswered.note}
	served := make(chan struct{})
	go func() {
		defer close(served)
		err = server.Serve(listener)
	}()
	select {
	case <-served:
		return err
	case <-stop.Done():
	}
	log.Printf("%s: finishing what is in flight", version)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return drain(ctx, server, listener, served, unanswered)
}
