# What the scripts of the benchmark have in common: the programs that are measured, and
# their end. Sourced after work, base and on_load are set; ends what it started.

stop() { # NAME ...: ends process groups that were started here
	local name
	for name; do
		[ -n "${pid[$name]:-}" ] || continue
		kill -TERM -- "-${pid[$name]}" 2>/dev/null || true
		wait "${pid[$name]}" 2>/dev/null || true
		unset "pid[$name]"
	done
}
trap 'stop "${!pid[@]}"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

build() { CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/" ./cmd/ramjet-ingressd ./bench/gauge; }

certify() { # KIND OPENSSL-OPTIONS: makes KIND.pem and KIND.key, and KIND.both of the two for haproxy
	openssl req -x509 -days 7 -nodes "${@:2}" -subj /CN=bench.test -addext subjectAltName=DNS:bench.test \
		-keyout "$work/$1.key" -out "$work/$1.pem" 2>/dev/null
	cat "$work/$1.pem" "$work/$1.key" >"$work/$1.both"
}

start_origin() {
	mkdir -p "$work/origin"
	origin_config "$work/origin" >"$work/origin/conf"
	setsid "${on_load[@]}" nginx -p "$work/origin" -c "$work/origin/conf" -e "$work/origin/error.log" </dev/null &
	pid[origin]=$!
	"$work/gauge" wait "127.0.0.1:$origin" bench.test /128
}
