#!/usr/bin/env bash
# calls.sh [-s SECONDS] [PROXY ...]
#
# Which system calls a GET of 128 bytes on a kept connection costs: strace counts them
# while 64 connections ask, with the proxy on one core with one worker and the load and
# the origin on the other. Prints a Markdown table, per request. Proxies: nginx, haproxy,
# the engines (nginx reactor nethttp). Needs strace, wrk, nginx and openssl.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=3
while getopts s: option; do
	case $option in
	s) seconds=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
proxies=${*:-nginx reactor nethttp}

work=$(mktemp -d)
chmod 755 "$work"
base=${BENCH_PORT:-28000} workers=1 key=ecdsa
origin=$base on_proxy=(taskset -c 1 env GOMAXPROCS=1) on_load=(taskset -c 0)
declare -A pid
. bench/proxies.sh
. bench/programs.sh

build
certify ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
start_origin

# ask SECONDS: puts load on the proxy; prints how many answers there were.
ask() { "${on_load[@]}" wrk -t1 -c64 -d "${1}s" -s bench/requests.lua "http://127.0.0.1:$at/128" | awk '$1 == "answers" {print $2}'; }

echo "| proxy | reads | writes | waits | other calls | of all, would have blocked or failed | requests |"
echo "| --- | ---: | ---: | ---: | --- | ---: | ---: |"
at=$base
for name in $proxies; do
	at=$((at + 10))
	start "$name" $at $((at + 1))
	ask 1 >/dev/null # warm
	processes=$(pgrep -g "${pid[$name]}")
	setsid strace -f -c -o "$work/counted" $(printf -- '-p %s ' $processes) 2>"$work/strace" &
	pid[strace]=$!
	for p in $processes; do
		until grep -q '^TracerPid:.*[1-9]' "/proc/$p/status"; do
			kill -0 "${pid[strace]}" 2>/dev/null || { cat "$work/strace" >&2; exit 1; }
			sleep 0.01
		done
	done
	answers=$(ask "$seconds")
	kill -TERM "${pid[strace]}" # SIGINT is ignored in the background
	wait "${pid[strace]}" || true
	unset "pid[strace]"
	awk -v name="$name" -v answers="$answers" '
		$1 !~ /^[0-9.]+$/ || $NF == "total" {next}
		{calls = $4; if (NF == 6) failed += $5}
		$NF ~ /^(read|readv|recvfrom|recvmsg)$/ {reads += calls; next}
		$NF ~ /^(write|writev|sendto|sendmsg)$/ {writes += calls; next}
		$NF ~ /^epoll_p?wait2?$/ {waits += calls; next}
		calls / answers >= 0.005 {others = others sprintf("%s%s %.2f", others == "" ? "" : ", ", $NF, calls / answers)}
		END {
			printf "| %s | %.2f | %.2f | %.3f | %s | %.3f | %d |\n", name, reads / answers, writes / answers,
				waits / answers, others == "" ? "–" : others, failed / answers, answers
		}' "$work/counted"
	stop "$name"
done
