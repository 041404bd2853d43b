# cleaner.sh DIR: waits for the end of its standard input, then unmounts the disks in a cluster's directory, and removes
# the directory and the System V shared memory of its killed PostgreSQL servers. DIR/servers has their PIDs. The PIDs of
# initdb are not in it; its postmaster.pid has the key and number of the segment. Servers that are
# being killed may still write and be attached, so it repeats.
trap '' INT TERM HUP
cat >/dev/null

# left prints the number and the attached processes of each segment that a server created.
left() {
	{
		[ ! -e "$1/servers" ] || cat "$1/servers"
		find "$1" -name postmaster.pid -exec awk 'FNR == 7 {print "segment", $1, $2}' {} +
	} | awk '
		FILENAME != "/proc/sysvipc/shm" {if ($1 == "segment") told[$2, $3]; else mine[$1]; next}
		$5 in mine || ($1, $2) in told {print $2, $7}' - /proc/sysvipc/shm
}

# unmount detaches all disks in the directory, whose server has ended.
unmount() {
	while read -r _ at _; do
		at=$(printf '%b' "$at")
		case $at in "$1"/*) umount -l "$at" || fusermount3 -u -z "$at" ;; esac
	done </proc/mounts
}

i=0
while :; do
	unmount "$1"
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
