#!/usr/bin/env bash
# Compares programs under the wrapper loadaware-peak with the same programs alone: exit codes and signals, known peaks, and
# the overhead of the wrapper. By default it uses less than 3 GB of memory. The rows of known peaks need root, for control
# groups and mount namespaces.
#
#   bash scripts/peak-table.sh [largest size of the rows "holds" and "spike", in MiB, default 2048] > table.md
set -euo pipefail
cd "$(dirname "$0")/.."

largest=${1:-2048}
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-peak.XXXXXX")
peak=$work/loadaware-peak load=$work/load message=$work/message
export CGO_ENABLED=0
go build -trimpath -ldflags '-s -w' -o "$peak" ./cmd/loadaware-peak
go build -trimpath -o "$load" ./cmd/loadaware-peak/testdata/load
renice -n 10 $$ >/dev/null

# Each run that is measured with a control group gets a new group: of version 2 if the memory controller exists there,
# otherwise of version 1.
root=/sys/fs/cgroup controllers=(memory cpuacct) peak_file=memory.max_usage_in_bytes version=1
if grep -qw memory $root/cgroup.subtree_control 2>/dev/null; then
	controllers=(.) peak_file=memory.peak version=2
fi
name=loadaware-peak-$$ dirs=()
leave() {
	for dir in ${dirs[@]+"${dirs[@]}"}; do rmdir "$dir" 2>/dev/null || true; done
	dirs=()
}
trap 'leave; rm -rf "$work"' EXIT
enter() { # creates a new control group; fails if that is impossible
	leave
	for controller in "${controllers[@]}"; do
		mkdir "$root/$controller/$name" 2>/dev/null || return 1
		dirs+=("$root/$controller/$name")
	done
	[ -r "${dirs[0]}/$peak_file" ]
}

# within COMMAND… runs a command in the control group with the folders $DIRS.
within() {
	sh -c 'for dir in $DIRS; do echo $$ >"$dir/cgroup.procs"; done; exec "$@"' sh "$@"
}
# hidden COMMAND… runs a command as PID 1 without access to cgroup files.
hidden() {
	unshare --mount --pid --fork --mount-proc sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh "$@"
}
# reported FIELD prints a field of the message that loadaware-peak wrote.
reported() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$message"; }

# ended SIGNAL COMMAND… runs a command and prints its exit code or the signal that ended it. If SIGNAL is not empty,
# it sends this signal to the command after 0.5 s.
ended() {
	perl -e 'my $signal = shift; my $pid = fork;
		if (!$pid) { open STDOUT, ">", "/dev/null"; open STDERR, ">", "/dev/null"; exec @ARGV; }
		if ($signal) { select undef, undef, undef, 0.5; kill $signal, $pid; }
		waitpid $pid, 0; use Config; my @names = split " ", $Config{sig_name};
		print $? & 127 ? "SIG" . $names[$? & 127] : "code " . ($? >> 8);' -- "$@"
}

echo "Linux $(uname -r), cgroup version $version, $(wc -c <"$peak" | tr -d ' ') bytes of binary"
echo
echo "| program | sent | alone | with loadaware-peak | exit_code in the message |"
echo "|---|---|---|---|---|"
same=0 cases=0
compare() { # NAME SIGNAL COMMAND…
	local label=$1 signal=$2
	shift 2
	rm -f "$message"
	local alone measured
	alone=$(ended "$signal" "$@") measured=$(ended "$signal" "$peak" -to "$message" -- "$@")
	cases=$((cases + 1))
	[ "$alone" != "$measured" ] || same=$((same + 1))
	echo "| $label | ${signal:--} | $alone | $measured | $([ ! -e "$message" ] || reported exit_code) |"
}
for code in 0 1 2 77 126 127 137 255; do compare "exits with $code" "" "$load" "exit:$code"; done
for signal in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU SYS; do
	compare "dies of SIG$signal" "" "$load" "die:$(kill -l $signal)"
done
for signal in HUP INT QUIT USR1 USR2 ALRM TERM KILL SEGV 40 WINCH CONT; do
	compare "default action" "$signal" "$load" sleep:1s
done
compare "exits with 5 on SIGTERM" TERM "$load" trap:15:5 sleep:2s
compare "ignores SIGTERM" TERM "$load" ignore:15 sleep:1s exit:6
compare "a shell that forwards nothing" TERM sh -c 'sleep 1; exit 3'
compare "50 children at once" "" "$load" children:50:sleep+200ms exit:11
compare "20 orphans" "" "$load" orphans:20:100ms exit:12
echo
echo "$same of $cases end in the same way."
echo
echo "| program | allocates, MiB | peak alone, MiB | measured with | reported, MiB | source | reported against the peak of the cgroup | reported against the peak alone | largest sample against the peak alone |"
echo "|---|---|---|---|---|---|---|---|---|"
kernel_peak() { cat "${dirs[0]}/$peak_file"; }
# row NAME MIB STEPS… prints up to two table rows: measured with the control group, and with /proc alone. If the peak of
# the program without the wrapper is unknown, the comparison is with the allocated size.
row() {
	local label=$1 known=$2 alone="" group_peak
	shift 2
	if enter; then
		DIRS="${dirs[*]}" within "$load" "$@"
		alone=$(kernel_peak)
		enter
		rm -f "$message"
		DIRS="${dirs[*]}" within "$peak" -to "$message" -- "$load" "$@"
		group_peak=$(kernel_peak)
		print "$label" "$known" "$alone" cgroup "$group_peak"
	fi
	rm -f "$message"
	if hidden "$peak" -to "$message" -- "$load" "$@" 2>/dev/null; then print "$label" "$known" "$alone" /proc ""; fi
}
print() { # NAME MIB PEAK_ALONE METHOD PEAK_OF_CGROUP prints a table row; "" is an unknown peak
	awk -v label="$1" -v known="$2" -v alone="$3" -v method="$4" -v group_peak="$5" -v reported="$(reported memory_max_bytes)" \
		-v sampled="$(reported memory_sampled_bytes)" -v source="$(reported source)" 'BEGIN {
		mib = 1048576
		truth = alone ? alone : known * mib
		printf "| %s | %d | %s | %s | %.1f | %s | %s | %+.2f %% | %+.2f %% |\n", label, known,
			alone ? sprintf("%.1f", alone / mib) : "-", method, reported / mib, source,
			group_peak ? sprintf("%+.2f %%", 100 * (reported / group_peak - 1)) : "-",
			100 * (reported / truth - 1), 100 * (sampled / truth - 1) }'
}
for size in 100 200 500 1000 2048 4096; do
	[ "$size" -gt "$largest" ] || row "holds" "$size" "alloc:$size" sleep:500ms
done
for size in 100 500 2048; do
	[ "$size" -gt "$largest" ] || row "spike of 50 ms after 3 s" "$size" sleep:3s "spike:$size:50ms" sleep:500ms
done
row "spike of 50 ms after 25 s" 500 sleep:25s spike:500:50ms sleep:500ms
row "5 children at once" 500 children:5:alloc+100,sleep+1500ms
row "50 children at once" 500 children:50:alloc+10,sleep+2500ms
row "also writes a file of 300 MiB" 200 alloc:200 "file:$work/data:300" sleep:500ms
echo
echo "Resources of the wrapper in 30 s with a program that sleeps:"
echo
echo "| measured with | CPU, % of a core | VmRSS, kB | VmHWM, kB | private (RssAnon), kB |"
echo "|---|---|---|---|---|"
overhead() { # COMMAND… measures the wrapper, the process that runs "sleep:31s" as its child
	rm -f "$message"
	"$@" "$peak" -to "$message" -- "$load" sleep:31s &
	sleep 30
	local pid
	pid=$(pgrep -f -- "^$peak -to $message" | tail -n 1)
	cat "/proc/$pid/task/"*/schedstat | awk '{ ns += $1 } END { printf "%.2f", ns / 30e9 * 100 }' >"$work/cpu"
	cat "/proc/$pid/status" >"$work/status"
	wait $!
	awk -v source="$(reported source)" -v cpu="$(cat "$work/cpu")" '{ v[$1] = $2 } END {
		printf "| %s | %s | %s | %s | %s |\n", source == "proc" ? "/proc" : "cgroup", cpu, v["VmRSS:"], v["VmHWM:"], v["RssAnon:"] }' "$work/status"
}
overhead env
if hidden true 2>/dev/null; then overhead hidden; fi
