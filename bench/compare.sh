#!/usr/bin/env bash
# compare.sh [-r ROUNDS] [-s SECONDS] [-p pinned|unpinned] [-e "ENGINE ..."] [ROW ...]
#
# What a request costs in ramjet-ingressd and in nginx, side by side on this machine.
# Prints a Markdown table and keeps it with the slices in bench/results. README.md
# here says how it is measured and how to read it. Needs nginx, wrk, h2load
# (nghttp2-client), openssl and at least two cores; haproxy if it is asked for.
#
# -r  rounds (10), -s  seconds of a slice (1; twice as long with TLS)
# -p  one of the two set-ups only, -e  what is compared with nginx: engines, haproxy (nethttp)
# rows: get-c64 get-c256 get64k post16k tls-get handshake handshake-rsa pace h2 routes
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=10 seconds=1 setups="pinned unpinned" engines="nethttp"
while getopts r:s:p:e: option; do
	case $option in
	r) rounds=$OPTARG ;; s) seconds=$OPTARG ;; p) setups=$OPTARG ;; e) engines=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
rows=${*:-get-c64 get-c256 get64k post16k tls-get handshake handshake-rsa pace h2 routes}

for tool in nginx wrk h2load openssl taskset setsid $(grep -ow haproxy <<<"$engines" || true); do
	command -v "$tool" >/dev/null || { echo "compare.sh needs $tool" >&2; exit 2; }
done
ulimit -n "$(ulimit -Hn)"

work=$(mktemp -d)
chmod 755 "$work" # the workers of an nginx that root starts are somebody else
base=${BENCH_PORT:-28000}
results=bench/results/$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p bench/results
: >"$results.slices"
origin=$base
declare -A pid port
. bench/proxies.sh

. bench/programs.sh

build
certify ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
certify rsa -newkey rsa:2048

# spent NAME: the CPU time in microseconds that a proxy has used, all its processes, and
# what of it was spent in user space. /proc counts it in hundredths of a second. The sum
# is exact, the part is sampled by the kernel's tick.
spent() {
	local p stat total=0 user=0
	for p in $(pgrep -g "${pid[$1]}"); do
		stat=$(sed 's/.*) //' "/proc/$p/stat")
		set -- "$1" $stat
		total=$((total + ${13} + ${14})) user=$((user + ${13}))
	done
	echo $((total * 10000)) $((user * 10000))
}

# drive ROW HTTP HTTPS SECONDS: puts load on a proxy; prints "answers errors", and in
# the row pace the 99th percentile of the latency in microseconds.
drive() {
	local http=http://127.0.0.1:$2 https=https://127.0.0.1:$3
	local wrk=("${on_load[@]}" wrk -t1 -s bench/requests.lua -d "${4}s")
	case $1 in
	get-c64) "${wrk[@]}" -c64 "$http/128" ;;
	get-c256) "${wrk[@]}" -c256 "$http/128" ;;
	get64k) "${wrk[@]}" -c64 "$http/64k" ;;
	post16k) BENCH_LOAD=post "${wrk[@]}" -c64 "$http/sink" ;;
	tls-get) "${wrk[@]}" -c64 "$https/128" ;;
	routes) BENCH_LOAD=routes "${wrk[@]}" -c64 "$http/" ;;
	pace) echo "answers $("${on_load[@]}" "$work/gauge" pace "127.0.0.1:$2" 4000 "${4}s")" ;;
	handshake | handshake-rsa) echo "answers $("${on_load[@]}" "$work/gauge" handshakes "127.0.0.1:$3" 16 "${4}s")" ;;
	h2) "${on_load[@]}" h2load -t1 -c16 -m16 -D "$4" "$https/128" |
		awk '/^status codes:/ {ok = $3} /^requests:/ {bad = $10 + $12 + $14} END {print "answers", ok + 0, bad + 0}' ;;
	*) echo "there is no row $1" >&2; return 1 ;;
	esac | awk '$1 == "answers" {print $2, $3, $4}'
}

# slice SETUP ROW ROLE NAME: one slice, one line.
slice() {
	local length=$seconds answers
	local -a before after
	case $2 in tls-get | handshake* | pace | h2) length=$((2 * seconds)) ;; esac
	before=($(spent "$4"))
	answers=$(drive "$2" ${port[$4]} "$length")
	after=($(spent "$4"))
	[ "${answers%% *}" -gt 0 ] || { echo "$4 answered nothing in $2, \"answers errors\" are $answers" >&2; return 1; }
	set -- "$1" "$2" "$3" "$4" $((after[0] - before[0])) $((after[1] - before[1])) $answers
	echo "$1 $2 $3 $4 $5 $6 $7 $8 $length ${9:-0}" >>"$results.slices"
}

# measure SETUP ROW REFERENCE NAME ...: all run at once, and are driven in turns with
# a slice of the reference before and after each.
measure() {
	local setup=$1 row=$2 reference=$3 name at=$base key=ecdsa
	[ "$row" != handshake-rsa ] || key=rsa
	shift 3
	for name in "$reference" "$@"; do
		at=$((at + 10))
		port[$name]="$at $((at + 1))"
		start "$name" ${port[$name]}
		drive "$row" ${port[$name]} 1 >/dev/null # warm
	done
	for _ in $(seq "$rounds"); do
		for name; do
			slice "$setup" "$row" reference "$reference"
			slice "$setup" "$row" subject "$name"
		done
	done
	slice "$setup" "$row" reference "$reference"
	stop "$reference" "$@"
}

for setup in $setups; do
	case $setup in
	pinned) workers=1 on_proxy=(taskset -c 1 env GOMAXPROCS=1) on_load=(taskset -c 0) ;;
	unpinned) workers=2 on_proxy=(env GOMAXPROCS=2) on_load=(env) ;;
	*) echo "there is no set-up $setup" >&2; exit 2 ;;
	esac
	start_origin
	for row in $rows; do
		echo "$setup $row" >&2
		if [ "$row" = routes ]; then
			for engine in ${engines//haproxy/}; do measure "$setup" "$row" "$engine" "$engine:routes"; done
		else
			measure "$setup" "$row" nginx $engines
		fi
	done
	stop origin
done

{
	echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores, Linux $(uname -r), $(go env GOVERSION), $(nginx -v 2>&1 | cut -d: -f2 | tr -d ' ')"
	"$work/gauge" table "$results.slices"
} | tee "$results.md"
