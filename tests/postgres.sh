#!/usr/bin/env bash
# A throw-away PostgreSQL server for the tests.
#
#   tests/postgres.sh start NOTE   makes and starts a server, prints its URL, and writes to the file NOTE where it lies
#   tests/postgres.sh stop NOTE    stops the server and deletes it, and NOTE
#
# The server lies in /tmp, which the user `postgres` can reach wherever NOTE is. PostgreSQL's programs are taken from
# PATH or from /usr/lib/postgresql. Works as root, who becomes the user `postgres` for it, and as any other user.
set -euo pipefail

usage() {
  echo "usage: $0 start NOTE | stop NOTE" >&2
  exit 2
}

[ $# = 2 ] || usage
note=$2

bin=$(dirname "$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)")
[ -x "$bin/initdb" ] || { echo "PostgreSQL is not installed: initdb is missing" >&2; exit 1; }

as_owner() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    (cd / && "$@")
  fi
}

start() {
  [ ! -e "$note" ] || { echo "$note: exists already" >&2; exit 1; }
  folder=$(mktemp -d /tmp/treeanon-postgres.XXXXXX)
  echo "$folder" >"$note"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"

  # A password with what URLs must encode, so that tests see whether any form of it is shown.
  local secret="se:c/r@t" encoded="se%3Ac%2Fr%40t" port
  (umask 077 && printf '%s\n' "$secret" >"$folder/password")
  [ "$(id -u)" != 0 ] || chown postgres "$folder/password"
  as_owner "$bin/initdb" -D "$folder/data" -U tester --pwfile="$folder/password" \
    --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1 ||
    { cat "$folder/initdb.log" >&2; exit 1; }

  for _ in 1 2 3 4 5; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    if as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 900 \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off" start >/dev/null 2>&1; then
      echo "postgresql://tester:$encoded@127.0.0.1:$port/postgres"
      return
    fi
  done
  cat "$folder/server.log" >&2
  exit 1
}

stop() {
  folder=$(cat "$note")
  [ -d "$folder/data" ] || { echo "$note: names no server" >&2; exit 1; }
  as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$folder" "$note"
}

case $1 in
  start) start ;;
  stop) stop ;;
  *) usage ;;
esac
