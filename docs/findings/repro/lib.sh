# lib.sh is what the programs of this folder have in common. Each run.sh begins with these lines:
#
#   #!/usr/bin/env bash
#   # One sentence that says what the program shows.
#   library=org.redisson:redisson
#   upstream=https://github.com/redisson/redisson/issues/1
#   . "$(dirname "$0")/../lib.sh"
#
# upstream is the public report of the defect. Without one, the line is missing, and the file upstream.md is the report to
# send.
#
# A program ends with one line that begins with "exists: " (exit code 1), "gone: " (0) or "could not try: " (3).
# VERSION=X tries another version of the library. Downloads stay below build/repro; DOWNLOAD=no makes none, and
# DOWNLOAD=only makes nothing else.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
downloads=${REPRO_BUILD:-$here/../../../../build/repro}
mkdir -p "$downloads" && downloads=$(cd "$downloads" && pwd)
work=$(mktemp -d)
pids=()
job=

# clean ends the servers and removes the temporary folder, on every exit.
clean() {
	local pid
	if [ "$job" ]; then kill -TERM "$job" 2>/dev/null; fi
	for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	wait 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

exists() { echo "exists: $*"; exit 1; }
gone() { echo "gone: $*"; exit 0; }
cannot() { echo "could not try: $*"; exit 3; }

# need PACKAGE PROGRAM...: whether this machine has the programs, which the Debian package brings.
need() {
	local package=$1 program
	shift
	for program in "$@"; do
		command -v "$program" >/dev/null || cannot "there is no $program (on Debian or Ubuntu: apt-get install $package)"
	done
}

# pinned prints the version of the library that this folder pins.
pinned() {
	case $library in
	*:*) sed -n 's/.*<library.version>\(.*\)<.*/\1/p' "$here/pom.xml" ;;
	npm/*) sed -n "s/.*\"${library#npm/}\": \"\([^\"]*\)\".*/\1/p" "$here/package.json" ;;
	pypi/*) sed -n "s/^${library#pypi/}==\([^ ;]*\).*/\1/p" "$here/requirements.txt" ;;
	*) sed -n "s|^require $library v||p" "$here/go.mod" ;;
	esac
}
version=${VERSION:-$(pinned)}
echo "library: $library $version"
if [ "${upstream:-}" ]; then echo "reported: $upstream"; fi

# redis [ARGUMENT...] starts a redis-server on a free port of loopback. It sets port and pid.
redis() {
	if [ "${DOWNLOAD:-}" = only ]; then port=0 pid=0 && return; fi
	need redis-server redis-server redis-cli
	local try
	for try in {1..20}; do
		port=$((10000 + RANDOM % 20000))
		local log=$work/redis-$port.log
		: >"$log"
		redis-server --bind 127.0.0.1 --port "$port" --dir "$work" --dbfilename "$port.rdb" --save '' --daemonize no "$@" >"$log" 2>&1 &
		pid=$!
		disown "$pid"
		while kill -0 "$pid" 2>/dev/null; do
			if grep -q 'Ready to accept connections' "$log"; then
				pids+=("$pid")
				return
			fi
			sleep 0.02
		done
		grep -q 'in use' "$log" || cannot "redis-server does not start: $(tail -n 1 "$log")"
	done
	cannot "no port of 20 was free"
}

# zookeeper starts a ZooKeeper server on a free port of loopback. It sets port and pid.
zookeeper() {
	if [ "${DOWNLOAD:-}" = only ]; then port=0 pid=0 && return; fi
	need default-jre-headless java
	local jar=/usr/share/java/zookeeper.jar try
	[ -e "$jar" ] || cannot "there is no $jar (on Debian or Ubuntu: apt-get install zookeeper)"
	for try in {1..20}; do
		port=$((10000 + RANDOM % 20000))
		printf '%s\n' "dataDir=$work/zookeeper-$port" clientPortAddress=127.0.0.1 "clientPort=$port" tickTime=200 admin.enableServer=false >"$work/zookeeper-$port.cfg"
		java -Xmx96m -XX:TieredStopAtLevel=1 -Dzookeeper.preAllocSize=256 -cp "$jar:/usr/share/java/slf4j-simple.jar" \
			org.apache.zookeeper.server.ZooKeeperServerMain "$work/zookeeper-$port.cfg" >"$work/zookeeper-$port.log" 2>&1 &
		pid=$!
		disown "$pid"
		while kill -0 "$pid" 2>/dev/null; do
			if (exec 3<>"/dev/tcp/127.0.0.1/$port" && echo srvr >&3 && timeout 1 grep -q 'Mode: standalone' <&3) 2>/dev/null; then
				pids+=("$pid")
				return
			fi
			sleep 0.1
		done
		grep -q 'in use' "$work/zookeeper-$port.log" || cannot "the ZooKeeper server does not start: $(grep -m 1 -i error "$work/zookeeper-$port.log")"
	done
	cannot "no port of 20 was free"
}

# prepared NAME FILE... COMMAND: runs a function that downloads into the new folder $1, unless that was done with the
# same files and version before. It sets folder.
prepared() {
	local name=$1 command=$2
	shift 2
	folder=$downloads/$name-$(cd "$here" && cat "$@" | sha256sum | cut -c 1-12)${VERSION:+-$VERSION}
	[ -e "$folder" ] && return
	[ "${DOWNLOAD:-}" != no ] || cannot "its packages are not there (scripts/repro $(basename "$here") downloads them)"
	local new
	new=$(mktemp -d "$folder.XXXX") # of its own, because another program may download the same
	if ! "$command" "$new" >"$new.log" 2>&1; then
		rm -rf "$new"
		cannot "its packages cannot be installed: $(grep -i -m 1 error "$new.log" | cut -c 1-200) (the whole log: $new.log)"
	fi
	rm -f "$new.log"
	mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new"
}

# try COMMAND... runs the program and ends as its last line says.
try() {
	[ "${DOWNLOAD:-}" != only ] || gone "nothing was tried, its packages are there"
	local last
	# The program runs in the background, so that a signal ends it at once.
	timeout -k 5 "${LIMIT:-120}" "$@" >"$work/out" 2>"$work/err" &
	job=$!
	wait "$job"
	job=
	last=$(tail -n 1 "$work/out")
	sed '$d' "$work/out"
	case $last in
	exists:*) exists "${last#exists: }" ;;
	gone:*) gone "${last#gone: }" ;;
	"could not try:"*) cannot "${last#could not try: }" ;;
	esac
	echo "$last"
	tail -n 20 "$work/err"
	cannot "the program ended without a result"
}

# try_java ARGUMENT... runs Main.java with the packages of pom.xml.
try_java() {
	need "maven default-jdk-headless" mvn javac java
	prepared java java_packages pom.xml
	try java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$folder/*" "$here/Main.java" "$@"
}
java_packages() {
	mvn -B -q -f "$here/pom.xml" ${VERSION:+-Dlibrary.version=$VERSION} \
		org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory="$1"
}

# try_node ARGUMENT... runs main.mjs with the packages of package-lock.json.
try_node() {
	need "nodejs npm" node npm
	prepared node node_packages package.json package-lock.json
	cp "$here/main.mjs" "$folder"
	try node "$folder/main.mjs" "$@"
}
node_packages() {
	cp "$here/package.json" "$here/package-lock.json" "$1" && cd "$1" || return
	npm ci --ignore-scripts --no-audit --no-fund || return
	if [ -n "${VERSION:-}" ]; then npm install --ignore-scripts --no-audit --no-fund --save-exact "${library#npm/}@$VERSION"; fi
}

# try_python ARGUMENT... runs main.py with the packages of requirements.txt.
try_python() {
	python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
		cannot "there is no python3 of 3.10 or newer with venv (on Debian or Ubuntu: apt-get install python3-venv)"
	prepared python python_packages requirements.txt
	try "$folder/bin/python" -u "$here/main.py" "$@"
}
python_packages() {
	python3 -m venv "$1" && "$1/bin/python" -m pip install --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.txt" || return
	if [ -n "${VERSION:-}" ]; then "$1/bin/python" -m pip install --no-deps "${library#pypi/}==$VERSION"; fi
}

# try_go ARGUMENT... runs main.go with the modules of go.mod.
try_go() {
	need golang go
	prepared go go_packages go.mod go.sum main.go
	try "$folder/main" "$@"
}
go_packages() {
	cp "$here/go.mod" "$here/go.sum" "$here/main.go" "$1" && cd "$1" || return
	export GOWORK=off GOFLAGS=${overlay:+-overlay=$overlay}
	if [ -n "${VERSION:-}" ]; then go get "$library@v$VERSION" && go mod tidy || return; fi
	go build -o main .
}
