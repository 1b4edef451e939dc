# How the programs of the benchmark are configured and started. compare.sh sources
# this. All forward the same fields, keep their connections to the origin open, and
# log nothing.
#
# Set by compare.sh: work (a folder), workers, key (ecdsa or rsa), origin (a port).

# nginx_base DIR WORKERS: what every nginx here has in common.
nginx_base() {
	cat <<-X
		worker_processes $2;
		daemon off;
		pid $1/pid;
		error_log $1/error.log crit;
		events { worker_connections 8192; }
	X
}

# nginx_http DIR: the beginning of http{}.
nginx_http() {
	local kind
	echo "access_log off; default_type text/plain; server_tokens off;"
	echo "keepalive_requests 1000000000; keepalive_timeout 1h;"
	for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $1/$kind;"; done
}

# origin_config DIR: bodies of 128 bytes and 64 KiB, and a sink.
origin_config() {
	head -c 65536 /dev/zero | tr '\0' x >"$1/64k"
	nginx_base "$1" 1
	echo "http {"
	nginx_http "$1"
	cat <<-X
		sendfile on; open_file_cache max=10 inactive=1h;
		server {
		  listen 127.0.0.1:$origin backlog=4096; root $1;
		  location / { return 200 "$(printf 'x%.0s' {1..128})"; }
		  location = /64k { }
		  location = /sink { return 200 ok; }
		}
		}
	X
}

# What a proxy serves, by what follows its name. Nothing: one catch-all route.
# ":routes": 1,000 hosts of 10 paths each. ":changes" (nginx and haproxy): the hosts
# bench.test and v$version.test, so that one sees which version of its configuration
# answers.

# nginx_config DIR HTTP HTTPS KIND. The body buffer holds a body of 16 KiB: the default
# would write it to a file.
nginx_config() {
	local host path listen="listen 127.0.0.1:$2; listen 127.0.0.1:$3 ssl http2;"
	local first="listen 127.0.0.1:$2 default_server backlog=4096; listen 127.0.0.1:$3 default_server ssl http2 backlog=4096;"
	cat >"$1/forward" <<-X
		proxy_pass http://origin; proxy_http_version 1.1;
		proxy_set_header Connection ""; proxy_set_header Host \$http_host;
		proxy_set_header X-Real-IP \$remote_addr; proxy_set_header X-Forwarded-For \$remote_addr;
		proxy_set_header X-Forwarded-Host \$http_host; proxy_set_header X-Forwarded-Port \$server_port;
		proxy_set_header X-Forwarded-Proto \$scheme; proxy_set_header X-Forwarded-Scheme \$scheme;
		proxy_set_header X-Request-ID \$request_id;
	X
	nginx_base "$1" "$workers"
	echo "http {"
	nginx_http "$1"
	cat <<-X
		client_body_buffer_size 64k; server_names_hash_max_size 4096;
		ssl_certificate $work/$key.pem; ssl_certificate_key $work/$key.key; ssl_protocols TLSv1.2 TLSv1.3;
		upstream origin { server 127.0.0.1:$origin; keepalive 512; keepalive_requests 1000000000; keepalive_timeout 1h; }
	X
	case $4 in
	routes)
		echo "server { $first return 404; }"
		for host in {0..999}; do
			echo "server { $listen server_name h$host.test;"
			for path in {0..9}; do echo "location /p$path/ { include $1/forward; }"; done
			echo "}"
		done
		;;
	changes)
		echo "server { $first return 404; }"
		echo "server { $listen server_name bench.test v$version.test; location / { include $1/forward; } }"
		;;
	*) echo "server { $first location / { include $1/forward; } }" ;;
	esac
	echo "}"
}

# haproxy_config DIR HTTP HTTPS KIND: the same fields; larger buffers are its default.
haproxy_config() {
	local host path
	cat <<-X
		global
		  nbthread $workers
		  maxconn 12000
		  no strict-limits
		  stats socket $1/socket mode 600 level admin expose-fd listeners
		defaults
		  mode http
		  timeout connect 5s
		  timeout client 1h
		  timeout server 1h
		  http-reuse always
		frontend in
		  bind 127.0.0.1:$2 backlog 4096
		  bind 127.0.0.1:$3 ssl crt $work/$key.both alpn h2,http/1.1 ssl-min-ver TLSv1.2 backlog 4096
		  http-request set-header X-Real-IP %[src]
		  http-request set-header X-Forwarded-For %[src]
		  http-request set-header X-Forwarded-Host %[req.hdr(host)]
		  http-request set-header X-Forwarded-Port %[dst_port]
		  http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)]
		  http-request set-header X-Forwarded-Scheme %[ssl_fc,iif(https,http)]
		  http-request set-header X-Request-ID %[uuid]
	X
	case $4 in
	routes)
		for host in {0..999}; do for path in {0..9}; do echo "h$host.test/p$path/ origin"; done; done >"$1/map"
		echo "  use_backend %[base,map_beg($1/map)]"
		;;
	changes) echo "  use_backend origin if { req.hdr(host) bench.test v$version.test }" ;;
	*) echo "  default_backend origin" ;;
	esac
	printf 'backend origin\n  server one 127.0.0.1:%s pool-max-conn 512\n' "$origin"
}

# ramjet_config KIND: a route file.
ramjet_config() {
	local host path
	echo "backends: [{name: origin, endpoints: ['127.0.0.1:$origin']}]"
	echo "tls: [{cert: $work/$key.pem, key: $work/$key.key}]"
	echo "routes:"
	case $1 in
	routes)
		for host in {0..999}; do for path in {0..9}; do
			echo "  - {host: h$host.test, path: /p$path, backend: origin}"
		done; done
		;;
	*) echo "  - {path: /, backend: origin}" ;;
	esac
}

# configure NAME HTTP HTTPS: writes the configuration of a proxy and sets cmd, which
# runs it. Names: nginx, haproxy or an engine, and what it serves.
configure() {
	local dir=$work/$1 kind=
	[ "${1%:*}" = "$1" ] || kind=${1#*:}
	mkdir -p "$dir"
	case $1 in
	nginx*)
		nginx_config "$dir" "$2" "$3" "$kind" >"$dir/conf"
		cmd=(nginx -p "$dir" -c "$dir/conf" -e "$dir/error.log")
		;;
	haproxy*)
		haproxy_config "$dir" "$2" "$3" "$kind" >"$dir/conf"
		cmd=(haproxy -db -f "$dir/conf")
		[ "$kind" != changes ] || cmd+=(-W)
		;;
	*)
		ramjet_config "$kind" >"$dir/conf"
		cmd=("$work/ramjet-ingressd" --static-routes "$dir/conf" --engine "${1%:*}" --worker-threads "$workers"
			--http "127.0.0.1:$2" --https "127.0.0.1:$3" --no-admin --log-level error
			--client-idle-timeout 1h --upstream-pool-idle 512)
		;;
	esac
}

# asked NAME: a host and a path that its configuration serves.
asked() {
	case $1 in
	*:routes) echo h999.test /p9/x ;;
	*:changes) echo "v$version.test" /128 ;;
	*) echo bench.test /128 ;;
	esac
}

# start NAME HTTP HTTPS: runs a proxy in a process group of its own, waits for its
# first answer, and sets pid[NAME].
start() {
	local -a cmd
	configure "$@"
	setsid "${on_proxy[@]}" "${cmd[@]}" >"$work/$1/log" 2>&1 </dev/null &
	pid[$1]=$!
	"$work/gauge" wait "127.0.0.1:$2" $(asked "$1") && kill -0 "${pid[$1]}" || { cat "$work/$1/log" >&2; return 1; }
}
