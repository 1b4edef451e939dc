module ramjet.dev/ingress

go 1.26.0

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/spf13/pflag v1.1.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.62.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
