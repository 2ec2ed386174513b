#!/usr/bin/env bash
# A throw-away MariaDB server for the tests.
#
#   tests/mariadb.sh start NOTE   makes and starts a server, prints its URL, and writes to the file NOTE where it lies
#   tests/mariadb.sh stop NOTE    stops the server and deletes it, and NOTE
#
# The server lies in /tmp, which the user `mysql` can reach wherever NOTE is. MariaDB's programs are taken from PATH or
# /usr/sbin. Works as root, who becomes the user `mysql` for it, and as any other user.
set -euo pipefail

usage() {
  echo "usage: $0 start NOTE | stop NOTE" >&2
  exit 2
}

[ $# = 2 ] || usage
note=$2
PATH=$PATH:/usr/sbin

command -v mariadbd >/dev/null || { echo "MariaDB is not installed: mariadbd is missing" >&2; exit 1; }

start() {
  [ ! -e "$note" ] || { echo "$note: exists already" >&2; exit 1; }
  local folder port server waited owner=()
  folder=$(mktemp -d /tmp/treeanon-mariadb.XXXXXX)
  echo "$folder" >"$note"
  if [ "$(id -u)" = 0 ]; then
    chown mysql "$folder"
    owner=(--user=mysql)
  fi
  mariadb-install-db --no-defaults "${owner[@]}" --datadir="$folder/data" --auth-root-authentication-method=normal \
    --skip-test-db >"$folder/install.log" 2>&1 || { cat "$folder/install.log" >&2; exit 1; }

  # A password with what URLs must encode, so that tests see whether any form of it is shown.
  cat >"$folder/users.sql" <<'SQL'
CREATE DATABASE IF NOT EXISTS clinic CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS tester@'127.0.0.1' IDENTIFIED BY 'se:c/r@t';
GRANT ALL ON *.* TO tester@'127.0.0.1' WITH GRANT OPTION;
SQL
  [ "$(id -u)" != 0 ] || chown mysql "$folder/users.sql"
  for _ in 1 2 3 4 5; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mariadbd --no-defaults "${owner[@]}" --datadir="$folder/data" --socket="$folder/socket" --port="$port" \
      --bind-address=127.0.0.1 --skip-name-resolve --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M \
      --pid-file="$folder/pid" --init-file="$folder/users.sql" >"$folder/server.log" 2>&1 </dev/null &
    server=$!
    disown
    for ((waited = 0; waited < 9000; waited++)); do
      if mariadb --no-defaults -h 127.0.0.1 -P "$port" -u tester -p'se:c/r@t' -e 'SELECT 1' >/dev/null 2>&1; then
        echo "mysql://tester:se%3Ac%2Fr%40t@127.0.0.1:$port/clinic"
        return
      fi
      kill -0 "$server" 2>/dev/null || break
      sleep 0.1
    done
  done
  cat "$folder/server.log" >&2
  exit 1
}

stop() {
  folder=$(cat "$note")
  [ -d "$folder/data" ] || { echo "$note: names no server" >&2; exit 1; }
  if [ -s "$folder/pid" ]; then
    server=$(cat "$folder/pid")
    kill -9 "$server" 2>/dev/null || true
    while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
  fi
  rm -rf "$folder" "$note"
}

case $1 in
  start) start ;;
  stop) stop ;;
  *) usage ;;
esac
