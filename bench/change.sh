#!/usr/bin/env bash
# change.sh [-n CHANGES] [PROXY ...]
#
# What a change of configuration every two seconds does to those who are connected: 64
# connections that ask all the time, and 100 that were used once and idle. Each change
# moves a host name; it is waited for until the new name is served. Prints a Markdown
# table. Proxies: nginx and haproxy, which are told to reload (both). The daemon here
# does not reload a route file: what a change does to its connections is a test in a
# cluster, see README.md. Needs nginx, haproxy, wrk and openssl.
set -euo pipefail
cd "$(dirname "$0")/.."

changes=10
while getopts n: option; do
	case $option in
	n) changes=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
proxies=${*:-nginx haproxy}

work=$(mktemp -d)
chmod 755 "$work"
base=${BENCH_PORT:-28000} workers=2 key=ecdsa idle=100
origin=$base on_proxy=(env GOMAXPROCS=2) on_load=(env)
declare -A pid
. bench/proxies.sh
. bench/programs.sh

build
certify ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
start_origin

# change NAME HTTP HTTPS: makes the next version the one that is served, and prints
# after how many milliseconds it was.
change() {
	local -a cmd
	local began
	version=$((version + 1))
	configure "$@"
	began=${EPOCHREALTIME/./}
	case $1 in
	nginx*) kill -HUP "${pid[$1]}" ;;
	haproxy*) kill -USR2 "${pid[$1]}" ;;
	*) echo "$1 does not reload its configuration" >&2; return 1 ;;
	esac
	"$work/gauge" wait "127.0.0.1:$2" $(asked "$1")
	echo $(((${EPOCHREALTIME/./} - began + 500) / 1000))
}

echo "| proxy | requests | of them failed | idle connections that lived | ms until a change is served: median | most |"
echo "| --- | ---: | ---: | ---: | ---: | ---: |"
at=$base
for name in $proxies; do
	at=$((at + 10))
	version=0
	name=$name:changes
	start "$name" $at $((at + 1))
	coproc holder { "$work/gauge" hold "127.0.0.1:$at" $idle; }
	holder_in=${holder[1]} holder_out=${holder[0]} holder_pid=$holder_PID
	read -r _ <&"$holder_out" # all are open and were used
	wrk -t1 -c64 -d "$((2 * changes + 2))s" -s bench/requests.lua -H "Host: bench.test" "http://127.0.0.1:$at/128" >"$work/load" &
	load=$!
	: >"$work/took"
	for _ in $(seq "$changes"); do
		sleep 2
		change "$name" $at $((at + 1)) >"$work/one"
		cat "$work/one" >>"$work/took"
	done
	wait "$load"
	echo >&"$holder_in" # ask those that idled once more
	lived=$(cat <&"$holder_out")
	wait "$holder_pid" || true
	read -r _ answers failed < <(grep '^answers' "$work/load")
	sort -n "$work/took" | awk -v line="${name%:*} | $answers | $failed | $lived of $idle" '{ms[NR] = $1} END {
		printf "| %s | %.0f | %d |\n", line, (ms[int((NR + 1) / 2)] + ms[int(NR / 2) + 1]) / 2, ms[NR]
	}'
	stop "$name"
done
