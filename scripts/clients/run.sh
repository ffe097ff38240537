#!/usr/bin/env bash
# Generates the clients of docs/clients.md from openapi.yaml, builds them, and runs the same scenario with
# each client (story.*, Story.java) against the built server with a private PostgreSQL and the demo data. The
# generated code stays in .cache/clients.
#
#   make build && bash scripts/clients/run.sh [description; default openapi.yaml]
#
# ONLY="java go" selects among java, python, go, ogen, typescript_fetch and openapi_typescript. GENERATOR=7.14.0 selects
# another openapi-generator.
set -Eeuo pipefail
spec=$(realpath "${1:-$(dirname "$0")/../../openapi.yaml}")
cd "$(dirname "$0")/../.."

generator=${GENERATOR:-7.25.0} # openapi-generator-cli, from Maven Central
dependency=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
bin=$PWD/bin/loadaware
sources=$PWD/scripts/clients
cache=$PWD/.cache/clients
jar=$cache/openapi-generator-cli-$generator.jar
# Each JVM here runs for seconds only. The C2 compiler and a parallel garbage collector would cost more than they save.
java_options='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
export MAVEN_OPTS="${MAVEN_OPTS:-} $java_options"
mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/tmp}/loadaware-clients.XXXXXX")
chmod 755 "$work" # if root runs this, PostgreSQL runs as another user
unset DATABASE_URL "${!LOADAWARE_@}"
server=

finish() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	sleep 1 # gives the private PostgreSQL time to end
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# fetch_generator downloads the jar of the generator if it is not in the cache.
fetch_generator() {
	[ -f "$jar" ] && return
	mvn -q -B -Dstyle.color=never "$dependency:copy" -Dartifact="org.openapitools:openapi-generator-cli:$generator" \
		-DoutputDirectory="$cache" -Dmdep.stripVersion=false
}

# start_server starts the built server with one admin token and waits until a model answers.
start_server() {
	local issued body='{"dag_id": "pricing", "task_id": "predict_demand", "features": {"product_count": 1253, "region": "emea"}}'
	: >"$work/server.log"
	issued=$("$bin" token --role admin)
	LOADAWARE_TOKEN=$(sed -n 's/^token: *//p' <<<"$issued")
	LOADAWARE_TOKENS=$(sed -n 's/^granted: *//p' <<<"$issued") "$bin" serve --demo --similar-tasks=false --background-training=false --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 \
		--data "$work/data" >"$work/server.log" 2>&1 &
	server=$!
	for _ in $(seq 600); do
		LOADAWARE_URL=$(sed -n 's/^loadaware serves at //p' "$work/server.log")
		if [ -n "$LOADAWARE_URL" ] && curl -sf -m 5 "$LOADAWARE_URL/predict" -H "Authorization: Bearer $LOADAWARE_TOKEN" \
			-H 'Content-Type: application/json' -d "$body" | grep -q '"source":"model"'; then
			export LOADAWARE_URL LOADAWARE_TOKEN
			return
		fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.2
	done
	echo "start the server: it ended, or no model answered within 120 s; its log:" >&2
	cat "$work/server.log" >&2
	exit 1
}

# generate NAME FOLDER [PROPERTIES] runs one generator of openapi-generator, with additional properties if given.
generate() {
	rm -rf "$2"
	mkdir -p "$2"
	# shellcheck disable=SC2086 # several options
	java $java_options -jar "$jar" generate -g "$1" -i "$spec" -o "$2" ${3:+--additional-properties="$3"} >"$2.log" 2>&1 ||
		{ cat "$2.log"; return 1; }
}

client_python() {
	local venv=$cache/python-venv pins=$sources/python/requirements.txt
	generate python "$cache/python" || return
	if ! cmp -s "$pins" "$venv/installed.txt"; then
		python3 -m venv --clear "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r "$pins" || return
		cp "$pins" "$venv/installed.txt"
	fi
	PYTHONPATH=$cache/python "$venv/bin/python" "$sources/python/story.py"
}

client_java() {
	generate java "$cache/java" || return
	cp "$sources/java/Story.java" "$cache/java/src/main/java/"
	(cd "$cache/java" && mvn -q -B -Dstyle.color=never compile "$dependency:build-classpath" -Dmdep.outputFile=classpath.txt) || return
	# shellcheck disable=SC2086 # several options
	java $java_options -cp "$cache/java/target/classes:$(cat "$cache/java/classpath.txt")" Story
}

# typescript NAME compiles the scenario of a TypeScript client with the generated code and runs it.
typescript() {
	local project=$cache/node/$1
	mkdir -p "$project/stories"
	cp "$sources/node/tsconfig.json" "$sources/node/package.json" "$project"
	cp "$sources/$1/story.ts" "$project/stories/"
	rm -rf "$project/out"
	(cd "$project" && ../node_modules/.bin/tsc -p .) && node "$project/out/stories/story.js"
}

client_typescript_fetch() {
	mkdir -p "$cache/node/typescript-fetch/generated"
	generate typescript-fetch "$cache/node/typescript-fetch/generated/typescript-fetch" importFileExtension=.js || return
	typescript typescript-fetch
}

client_openapi_typescript() {
	local generated=$cache/node/openapi-typescript/generated/openapi-typescript
	mkdir -p "$generated"
	"$cache/node/node_modules/.bin/openapi-typescript" "$spec" -o "$generated/schema.d.ts" || return
	typescript openapi-typescript
}

# go_module NAME copies the module of the Go scenarios to a folder of the cache and makes that folder the current one.
go_module() {
	mkdir -p "$cache/$1"
	rm -rf "$cache/$1/$1"
	cp -R "$sources/go/go.mod" "$sources/go/go.sum" "$sources/go/$1" "$cache/$1"
	cd "$cache/$1"
}

client_go() (
	go_module openapi-generator || exit
	generate go generated/openapi withGoMod=false || exit
	rm -rf generated/openapi/test
	go run ./openapi-generator
)

client_ogen() (
	go_module ogen || exit
	go tool ogen --target generated/oas --package oas --clean "$spec" >generated.log 2>&1 || { tail -n 20 generated.log; exit 1; }
	go run ./ogen
)

# try CLIENT… generates, builds and runs clients one after the other. Each client has its own log, and its own task
# (STORY_TASK), because all clients use the same server.
try() {
	local client begun code
	for client in "$@"; do
		[[ " ${ONLY:-$client} " == *" $client "* ]] || continue
		begun=$SECONDS code=0
		(set +e; STORY_TASK=$client "client_$client") >"$work/$client.log" 2>&1 || code=$?
		echo "$code" >"$work/$client.code"
		if [ "$code" -eq 0 ]; then
			printf 'ok      %-20s %3d s\n' "$client" $((SECONDS - begun))
		else
			printf 'FAILED  %-20s %3d s\n' "$client" $((SECONDS - begun))
			tail -n "${LINES_SHOWN:-25}" "$work/$client.log" | sed 's/^/        /'
		fi
	done
}

. scripts/clients/node.sh
fetch_generator
start_server
try java python &
background=$!
try go ogen typescript_fetch openapi_typescript
wait "$background"

codes=("$work"/*.code)
passed=$(grep -lx 0 "${codes[@]}" | wc -l)
echo "$passed of ${#codes[@]} clients passed in $SECONDS s"
[ "$passed" -eq "${#codes[@]}" ]
