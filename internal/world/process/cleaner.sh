# undertaker.sh DIR: removes a cluster's directory when the standard input ends, and the segments
# of shared memory that its servers leave: a PostgreSQL that is killed leaves one of System V.
# DIR/servers has the number of each process that was started. What initdb starts is not among
# them, but tells the key and the number of its segment in postmaster.pid. Servers that are killed
# at that moment may still write, and are still attached, so it looks again.
trap '' INT TERM HUP
cat >/dev/null

# left prints of each segment that a server has made: its number, and how many are attached.
left() {
	{
		[ ! -e "$1/servers" ] || cat "$1/servers"
		find "$1" -name postmaster.pid -exec awk 'FNR == 7 {print "segment", $1, $2}' {} +
	} | awk '
		FILENAME != "/proc/sysvipc/shm" {if ($1 == "segment") told[$2, $3]; else mine[$1]; next}
		$5 in mine || ($1, $2) in told {print $2, $7}' - /proc/sysvipc/shm
}

i=0
while :; do
	busy=$(left "$1" | while read -r segment attached; do
		[ "$attached" = 0 ] && ipcrm -m "$segment" || echo "$segment"
	done)
	if [ -z "$busy" ] && rm -rf -- "$1" && ! [ -e "$1" ]; then
		exit
	fi
	i=$((i + 1))
	[ $i -lt 50 ] || exit 1
	sleep 0.2
done 2>/dev/null
