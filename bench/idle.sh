#!/usr/bin/env bash
# idle.sh [-n CONNECTIONS] [-w SECONDS] [PROXY ...]
#
# What an idle connection costs: the growth of a proxy's memory (PSS, /proc) by
# connections that were used once and are kept, and what is left of it ten seconds after
# they closed, or SECONDS. Prints a Markdown table. Proxies: nginx, haproxy, the engines
# (nginx nethttp). Needs nginx, openssl and as many file descriptors as connections.
set -euo pipefail
cd "$(dirname "$0")/.."

connections=10000 patience=10
while getopts n:w: option; do
	case $option in
	n) connections=$OPTARG ;;
	w) patience=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
proxies=${*:-nginx nethttp}
ulimit -n "$(ulimit -Hn)"

work=$(mktemp -d)
chmod 755 "$work"
base=${BENCH_PORT:-28000} workers=2 key=ecdsa
origin=$base on_proxy=(env GOMAXPROCS=2) on_load=(env)
declare -A pid
. bench/proxies.sh
. bench/programs.sh

# pss NAME: the memory of a proxy's processes in KiB, what they share counted once.
pss() {
	local p total=0
	for p in $(pgrep -g "${pid[$1]}"); do
		total=$((total + $(awk '/^Pss:/ {print $2}' "/proc/$p/smaps_rollup")))
	done
	echo $total
}

build
certify ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
start_origin

echo "| proxy | PSS before, KiB | bytes per idle connection | survived | still held $patience s after all closed, KiB |"
echo "| --- | ---: | ---: | ---: | ---: |"
at=$base
for name in $proxies; do
	at=$((at + 10))
	start "$name" $at $((at + 1))
	"$work/gauge" pace "127.0.0.1:$at" 1000 1s >/dev/null # warm
	sleep 1
	before=$(pss "$name")
	coproc holder { "$work/gauge" hold "127.0.0.1:$at" "$connections"; }
	holder_in=${holder[1]}
	read -r _ <&"${holder[0]}" # all are open and were used
	sleep 1
	during=$(pss "$name")
	echo >&"$holder_in" # ask them all once more, then close
	read -r survived <&"${holder[0]}"
	wait "$holder_PID"
	sleep "$patience"
	after=$(pss "$name")
	echo "| $name | $before | $(((during - before) * 1024 / connections)) | $survived | $((after - before)) |"
	stop "$name"
done
