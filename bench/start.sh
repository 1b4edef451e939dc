#!/usr/bin/env bash
# start.sh [-n TIMES] [PROXY ...]
#
# How long a proxy with 10,000 routes (1,000 hosts of 10 paths) takes from its start to
# its first answer. Prints a Markdown table. Proxies: nginx, haproxy, the engines (nginx
# haproxy nethttp reactor). Needs those and openssl.
set -euo pipefail
cd "$(dirname "$0")/.."

times=10
while getopts n: option; do
	case $option in
	n) times=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
proxies=${*:-nginx haproxy nethttp reactor}

work=$(mktemp -d)
chmod 755 "$work"
base=${BENCH_PORT:-28000} workers=2 key=ecdsa
origin=$base on_load=(env)
declare -A pid
. bench/proxies.sh
. bench/programs.sh

build
certify ecdsa -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
start_origin

echo "| proxy | ms from its start to its first answer: median | least | most | times |"
echo "| --- | ---: | ---: | ---: | ---: |"
at=$base
for name in $proxies; do
	at=$((at + 10))
	name=$name:routes
	declare -a cmd
	configure "$name" $at $((at + 1))
	for _ in $(seq "$times"); do
		GOMAXPROCS=2 "$work/gauge" first "127.0.0.1:$at" $(asked "$name") "${cmd[@]}"
	done | sort -n | awk -v name="${name%:*}" '{ms[NR] = $1} END {
		printf "| %s | %.0f | %.0f | %.0f | %d |\n", name, (ms[int((NR + 1) / 2)] + ms[int(NR / 2) + 1]) / 2, ms[1], ms[NR], NR
	}'
done
