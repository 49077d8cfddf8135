# shellcheck shell=bash disable=SC2034
# What the scripts here share. Sourced, never run.
set -euo pipefail
umask 022

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# What is costly to make and the same for every run. A server started by root reads it as `nobody`,
# who cannot enter the home of root on most systems; hence the other place.
if [ "$UID" = 0 ] && [ -z "${XDG_CACHE_HOME:-}" ]; then
    CACHE=/var/cache/pagewire
else
    CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/pagewire
fi
FILES_STAMP=3 # raise it to have the trees of `files` made anew; two checkouts need not agree on it
FILES=${PAGEWIRE_TEST_FILES:-$CACHE/files-$FILES_STAMP}
BIG=${PAGEWIRE_BIG:-$CACHE/big}

# Where servers listen: here, or at an end of `link`.
ADDRESS=${PAGEWIRE_ADDRESS:-127.0.0.1}

# What belongs to running servers: configurations, logs, sockets.
LAB=${PAGEWIRE_LAB_DIR:-${XDG_RUNTIME_DIR:-/tmp}/pagewire-$UID}

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

usage() {
    echo "usage: ${0##*/} $*" >&2
    exit 2
}

# Sockets lie 51 characters below LAB, and their paths may have 107.
[ ${#LAB} -le 56 ] || die "the path of PAGEWIRE_LAB_DIR is too long for sockets: $LAB"
[[ $LAB = /* && $FILES = /* && $BIG = /* ]] || die "PAGEWIRE_LAB_DIR, _TEST_FILES and _BIG must be absolute paths"

need() {
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || die "no command '$command': run testing/servers/install as root"
    done
}

# private_dir DIR: the default names can be guessed, so one that somebody else made is refused.
private_dir() {
    mkdir -p "$1"
    [ -O "$1" ] || die "$1 belongs to somebody else"
    chmod 700 "$1"
}

need_root() { [ "$UID" = 0 ] || die "needs root: $*"; }

# built NAME.c [FLAG]...: the path of what a C compiler makes of that file, made unless it is there.
built() {
    local source=$HERE/$1 out=$CACHE/bin/${1%.c}
    if [ ! "$out" -nt "$source" ]; then
        need cc
        mkdir -p "$CACHE/bin"
        cc -O2 -Wall -Wextra "${@:2}" -o "$out.$$" "$source"
        mv "$out.$$" "$out"
    fi
    echo "$out"
}

listening() { (: <"/dev/tcp/$ADDRESS/$1") 2>/dev/null; }

# pids_with ARGUMENT [PROGRAM]: the processes that were started with exactly this argument and run that program, a
# pattern for its name without a directory. With a path of ours in it, that finds what a killed parent left behind
# and never a stranger that reuses a pid; with a program, nobody either who looks at that path with another one.
pids_with() {
    local file program
    # The argument goes in by stdin, or grep would find itself. It fails when it finds nothing, and
    # when a process ends while it looks.
    # shellcheck disable=SC2062 # the glob is of files
    { grep -lszxF --file=/dev/stdin /proc/[0-9]*/cmdline <<<"$1" || true; } | while IFS=/ read -r _ _ file _; do
        # A program that was replaced since then is "(deleted)". Where the system does not say what runs, as in some
        # containers of a child that acts as another user, the argument must do.
        program=$(readlink "/proc/$file/exe") || program=
        program=${program##*/}
        # shellcheck disable=SC2053 # a pattern
        if [ -z "$program" ] || [[ ${program% (deleted)} = @(${2:-*}) ]]; then echo "$file"; fi
    done
}

# The rest is for servers. Each sets PORT, the first of its ports; STATE, its directory; MARK, an argument that
# all its processes have; and RUNS, the pattern of what these run.

alive() { [ -n "$(pids_with "$MARK" "$RUNS")" ]; }

# shellcheck disable=SC2153 # PORT is theirs
is_up() { alive && listening "$PORT"; }

down() {
    local pids signal=TERM tries=0
    while mapfile -t pids < <(pids_with "$MARK" "$RUNS") && [ ${#pids[@]} -gt 0 ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || die "these processes do not end: ${pids[*]}"
        [ $tries -lt 30 ] || signal=KILL
        kill -$signal "${pids[@]}" 2>/dev/null || true # some may be gone by now
        sleep 0.1
    done
}

# claim PORT...: make STATE anew for a server that will take these ports. Exit code 75 if one is taken.
# Until `unlock`, or the end, no other server starts: two at once must not both find a port free.
claim() {
    local port
    private_dir "$LAB"
    exec 9>"$LAB/lock"
    flock 9
    ! is_up || die "already up on port $PORT"
    down # what a start or a server that was killed left behind
    for port in "$@"; do
        if listening "$port"; then
            echo "${0##*/}: port $port is taken" >&2
            exit 75
        fi
    done
    rm -rf "$STATE" # not by `down`: a log is wanted most after an end
    mkdir -p "$STATE"
}

unlock() { exec 9>&-; }

# await SECONDS PID CONDITION LOG...: until the command CONDITION succeeds. If that process ends before, or
# it takes longer, the ends of the logs.
await() {
    local end=$((SECONDS + $1))
    until $3; do
        if [ $SECONDS -ge $end ] || ! kill -0 "$2" 2>/dev/null; then
            tail -n 20 "${@:4}" >&2 || true
            die "does not start on port $PORT"
        fi
        sleep 0.1
    done
}
