#!/usr/bin/env bash
# put.sh PAGE MARK: puts what it reads into a page, between <!-- MARK --> and <!-- end of MARK -->.
set -euo pipefail
page=$1 mark=$2
text=$(mktemp)
trap 'rm -f "$text"' EXIT
cat >"$text"
awk -v text="$text" -v begin="<!-- $mark -->" -v end="<!-- end of $mark -->" '
	index($0, begin) { print; while ((getline line < text) > 0) print line; print ""; skip = 1; next }
	index($0, end) { skip = 0 }
	!skip { print }
	' "$page" >"$page.new"
mv "$page.new" "$page"
