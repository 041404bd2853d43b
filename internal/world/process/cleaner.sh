# cleaner.sh DIR: waits for the end of its standard input, then unmounts the disks in a cluster's directory, and removes
# the directory and the System V shared memory of its killed PostgreSQL servers. DIR/servers has their PIDs. The PIDs of
# initdb are not in it; its postmaster.pid has the key and number of the segment. Servers that are
# being killed may still write and be attached, so it repeats. DIR/machines has the PIDs of containers with disks, which
# only they see.
trap '' INT TERM HUP

# ended succeeds if lockbench was killed and does not go: one of its threads waits for a disk that lockbench itself
# serves, and all its files stay open, the standard input of this script, too. A SIGKILL is pending (bit 8) then.
ended() {
	while read -r key value _; do
		case $key$value in State:Z | SigPnd:*[13579bdf]??) return 0 ;; esac
	done </proc/$PPID/status
	return 1
}

exec 4<&0
cat <&4 >/dev/null 3<&- 4<&- &
cat=$!
while sleep 2; do
	if ended; then
		while read -r pid; do
			awk '/ - fuse\.lockbench / {sub(".*:", "", $3); print $3}' "/proc/$pid/mountinfo"
		done <"$1/machines" | while read -r number; do
			echo 1 >"/sys/fs/fuse/connections/$number/abort"
		done
		kill -KILL $cat
	fi
done 2>/dev/null >&2 3<&- 4<&- &
watch=$!
wait $cat
kill -KILL $watch

# left prints the number and the attached processes of each segment that a server created.
left() {
	{
		[ ! -e "$1/servers" ] || cat "$1/servers"
		find "$1" -name postmaster.pid -exec awk 'FNR == 7 {print "segment", $1, $2}' {} +
	} | awk '
		FILENAME != "/proc/sysvipc/shm" {if ($1 == "segment") told[$2, $3]; else mine[$1]; next}
		$5 in mine || ($1, $2) in told {print $2, $7}' - /proc/sysvipc/shm
}

# unmount detaches all disks in the directory. Processes that wait for an answer of a disk get an error, and can end.
unmount() {
	while read -r _ _ device _ at _; do
		at=$(printf '%b' "$at")
		case $at in "$1"/*)
			{ echo 1 >"/sys/fs/fuse/connections/${device#*:}/abort"; } 2>/dev/null
			umount -f -l "$at" || fusermount3 -u -z "$at"
			;;
		esac
	done </proc/self/mountinfo
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
