#!/usr/bin/env bash
# Builds sched_goodput.so for the Slurm of this Debian, with the internal headers of Debian's own source package.
#
#   build.sh [FOLDER]      default: build/slurm-plugin; the source is left in FOLDER/source
#
# Needs g++, cmake, ninja-build, nlohmann-json3-dev and dpkg-dev. Nothing outside FOLDER is touched: the source package is
# looked up through lists of its own. The plugin that comes of it is a work based on Slurm, whose licence is the GPL,
# version 2 or later: see docs/slurm.md before you hand it on.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
folder=${1:-$root/build/slurm-plugin}
mkdir -p "$folder"/{lists/partial,cache/archives/partial}
folder=$(cd "$folder" && pwd)

if [[ ! -e $folder/source/META ]]; then
    version=$(dpkg-query -W -f '${source:Version}' slurmctld)
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
    printf 'deb-src [signed-by=%s] %s main\n' "$keys" "$mirror/debian $suite" "$keys" "$mirror/debian $suite-updates" \
        "$keys" "$mirror/debian-security $suite-security" >"$folder/sources.list"
    apt=(apt-get -q -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=)
    "${apt[@]}" update
    (cd "$folder" && "${apt[@]}" source --download-only "slurm-wlm=$version")
    rm -rf "$folder/source"
    dpkg-source --no-check -x "$folder"/slurm-wlm_*.dsc "$folder/source"
fi

cmake -S "$root" -B "$folder/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D GOODPUT_BUILD_TESTS=OFF \
    -D GOODPUT_BUILD_BENCHMARKS=OFF -D GOODPUT_BUILD_COMPILED=OFF -D GOODPUT_INSTALL=OFF \
    -D "GOODPUT_SLURM_SOURCE=$folder/source"
cmake --build "$folder/build" --target sched_goodput
echo "$folder/build/examples/slurm/plugin/sched_goodput.so"
