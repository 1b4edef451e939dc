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

# nginx_config DIR HTTP HTTPS: one catch-all route. The body buffer holds a body of
# 16 KiB: the default would write it to a file.
nginx_config() {
	nginx_base "$1" "$workers"
	echo "http {"
	nginx_http "$1"
	cat <<-X
		client_body_buffer_size 64k;
		ssl_certificate $work/$key.pem; ssl_certificate_key $work/$key.key; ssl_protocols TLSv1.2 TLSv1.3;
		upstream origin { server 127.0.0.1:$origin; keepalive 512; keepalive_requests 1000000000; keepalive_timeout 1h; }
		server {
		  listen 127.0.0.1:$2 backlog=4096;
		  listen 127.0.0.1:$3 ssl http2 backlog=4096;
		  location / {
		    proxy_pass http://origin; proxy_http_version 1.1;
		    proxy_set_header Connection ""; proxy_set_header Host \$http_host;
		    proxy_set_header X-Real-IP \$remote_addr; proxy_set_header X-Forwarded-For \$remote_addr;
		    proxy_set_header X-Forwarded-Host \$http_host; proxy_set_header X-Forwarded-Port \$server_port;
		    proxy_set_header X-Forwarded-Proto \$scheme; proxy_set_header X-Forwarded-Scheme \$scheme;
		    proxy_set_header X-Request-ID \$request_id;
		  }
		}
		}
	X
}

# haproxy_config HTTP HTTPS: the same fields; larger buffers are its default.
haproxy_config() {
	cat <<-X
		global
		  nbthread $workers
		  maxconn 8192
		defaults
		  mode http
		  timeout connect 5s
		  timeout client 1h
		  timeout server 1h
		  http-reuse always
		frontend in
		  bind 127.0.0.1:$1 backlog 4096
		  bind 127.0.0.1:$2 ssl crt $work/$key.both alpn h2,http/1.1 ssl-min-ver TLSv1.2 backlog 4096
		  http-request set-header X-Real-IP %[src]
		  http-request set-header X-Forwarded-For %[src]
		  http-request set-header X-Forwarded-Host %[req.hdr(host)]
		  http-request set-header X-Forwarded-Port %[dst_port]
		  http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)]
		  http-request set-header X-Forwarded-Scheme %[ssl_fc,iif(https,http)]
		  http-request set-header X-Request-ID %[uuid]
		  default_backend origin
		backend origin
		  server one 127.0.0.1:$origin pool-max-conn 512
	X
}

# ramjet_config ROUTES: a route file with one catch-all route, or with 1,000 hosts of
# 10 paths each.
ramjet_config() {
	local host path
	echo "backends: [{name: origin, endpoints: ['127.0.0.1:$origin']}]"
	echo "tls: [{cert: $work/$key.pem, key: $work/$key.key}]"
	echo "routes:"
	if [ "$1" = 1 ]; then
		echo "  - {path: /, backend: origin}"
		return
	fi
	for host in {0..999}; do for path in {0..9}; do
		echo "  - {host: h$host.test, path: /p$path, backend: origin}"
	done; done
}

# start NAME HTTP HTTPS: runs a proxy in a process group of its own, waits for its
# first answer, and sets pid[NAME]. Names: nginx, haproxy, an engine, an engine with
# ":routes" for the large route file.
start() {
	local dir=$work/$1 host=bench.test path=/128
	local -a cmd
	mkdir -p "$dir"
	case $1 in
	nginx)
		nginx_config "$dir" "$2" "$3" >"$dir/conf"
		cmd=(nginx -p "$dir" -c "$dir/conf" -e "$dir/error.log")
		;;
	haproxy)
		haproxy_config "$2" "$3" >"$dir/conf"
		cmd=(haproxy -db -f "$dir/conf")
		;;
	*)
		case $1 in
		*:routes)
			ramjet_config 10000 >"$dir/conf"
			host=h999.test path=/p9/x
			;;
		*) ramjet_config 1 >"$dir/conf" ;;
		esac
		cmd=("$work/ramjet-ingressd" --static-routes "$dir/conf" --engine "${1%:*}" --worker-threads "$workers"
			--http "127.0.0.1:$2" --https "127.0.0.1:$3" --no-admin --log-level error
			--client-idle-timeout 1h --upstream-pool-idle 512)
		;;
	esac
	setsid "${on_proxy[@]}" "${cmd[@]}" >"$dir/log" 2>&1 </dev/null &
	pid[$1]=$!
	"$work/gauge" wait "127.0.0.1:$2" "$host" "$path" || { cat "$dir/log" >&2; return 1; }
}
