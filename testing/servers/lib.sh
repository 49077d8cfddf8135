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
FILES=${PAGEWIRE_TEST_FILES:-$CACHE/files}
BIG=${PAGEWIRE_BIG:-$CACHE/big}

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

listening() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# pids_with ARGUMENT: the processes that were started with exactly this argument. With a path of ours
# in it, that finds what a killed parent left behind and never a stranger that reuses a pid.
pids_with() {
    local file
    # The argument goes in by stdin, or grep would find itself. It fails when it finds nothing, and
    # when a process ends while it looks.
    # shellcheck disable=SC2062 # the glob is of files
    { grep -lszxF --file=/dev/stdin /proc/[0-9]*/cmdline <<<"$1" || true; } | while IFS=/ read -r _ _ file _; do
        echo "$file"
    done
}
