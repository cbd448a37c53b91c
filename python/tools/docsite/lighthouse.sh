#!/usr/bin/env bash
# Lighthouse on pages of the built site, served on loopback:
#
#     lighthouse.sh FOLDER [PAGE...]
#
# prints accessibility and best practices of each page, and fails below 95. Needs npm and Chromium
# (CHROME_PATH); npm keeps its packages in target/lighthouse.
set -euo pipefail

folder=$1
shift
pages=("$@")
((${#pages[@]})) || pages=(index.html reference/protocols/vcp.html)
root=$(cd "$(dirname "$0")/../../.." && pwd)
tools=$root/target/lighthouse
export CHROME_PATH=${CHROME_PATH:-/usr/bin/chromium}

command -v npm >/dev/null && test -x "$CHROME_PATH" || {
    echo "docs-lighthouse needs npm and Chromium (CHROME_PATH)" >&2
    exit 5
}
test -f "$folder/index.html" || {
    echo "$folder: no pages; make docs" >&2
    exit 5
}
mkdir -p "$tools"
npm install --silent --no-fund --no-audit --prefix "$tools" lighthouse@13 >/dev/null

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python3 -m http.server --bind 127.0.0.1 --directory "$folder" "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT

status=0
for page in "${pages[@]}"; do
    "$tools/node_modules/.bin/lighthouse" "http://127.0.0.1:$port/$page" --quiet \
        --only-categories=accessibility,best-practices --output=json --output-path="$tools/report.json" \
        --chrome-flags="--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    python3 - "$tools/report.json" "$page" <<'PY' || status=1
import json, sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
scores = {name: round(100 * one["score"]) for name, one in report["categories"].items()}
print(sys.argv[2], ", ".join(f"{name} {score}" for name, score in scores.items()))
for audit in report["audits"].values():
    if audit["score"] is not None and audit["score"] < 1:
        print(f"  {audit['id']}: {audit['title']}")
sys.exit(min(scores.values()) < 95)
PY
done
exit $status
