#!/bin/sh
# pack.sh makes the file system of an image from programs of this machine and the libraries that they load.
#
#	pack.sh tar  NAME[,NAME]...[=PROGRAM]... [-- PATH...]    print the file system as a tar
#	pack.sh list NAME[,NAME]...[=PROGRAM]... [-- PATH...]    print a line for each file, which changes when the file does
#
# A program is /bin/NAME in the image; PROGRAM is NAME by default. Each PATH is a file or a folder, which keeps its
# place, and is absolute. Links are followed.
set -eu
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT

mode=$1
shift
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	path=$(command -v "${1#*=}") || { echo "there is no program ${1#*=} on this machine, and the image needs it; scripts/setup installs the programs of all images" >&2; exit 1; }
	path=$(realpath -e "$path")
	echo "$path" >>"$work/code"
	echo "${1%%=*}" | tr , '\n' | while read -r name; do echo "$name $path"; done >>"$work/programs"
	shift
done
cd "$work"
# A file of a folder may need libraries that this machine lacks, and a program may not.
if xargs -d '\n' ldd <code 2>&1 | grep 'not found' >&2; then exit 1; fi
touch files
if [ $# -gt 1 ]; then
	shift
	find -L "$@" -type f | sort >files
	find -L "$@" -type f \( -perm /111 -o -name '*.so' \) >>code
fi
# ldd fails for scripts and static programs, which load nothing.
{ xargs -d '\n' ldd <code 2>/dev/null || true; } | sed -n 's/^\t\(.* => \)\{0,1\}\(\/.*\) (0x[0-9a-f]*)$/\2/p' |
	xargs -r -d '\n' realpath -s | sort -u | comm -23 - files >libraries

if [ "$mode" = list ]; then
	# Programs and libraries are identified by their content. The other files may be a whole Java.
	cat programs
	cut -d ' ' -f 2- programs | cat - libraries | sort -u | xargs -d '\n' sha256sum
	xargs -r -d '\n' stat -L -c '%n %s %a %y' <files
	exit
fi
mkdir -p root/bin root/etc root/lb
mkdir -m 777 root/results
mkdir -m 1777 root/tmp
printf '%s\n' root:x:0:0:root:/:/bin/sh lockbench:x:1000:1000:lockbench:/lb:/bin/sh >root/etc/passwd
printf '%s\n' root:x:0: lockbench:x:1000: >root/etc/group
cat files libraries | xargs -r -d '\n' cp -L --parents -t root
while read -r name path; do
	# A program among the files looks for others in its folder.
	if [ -e "root$path" ]; then ln -s "$path" "root/bin/$name"; else cp "$path" "root/bin/$name"; fi
done <programs
chmod -R a+rX root
tar -C root --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c .
