#!/usr/bin/env bash
# Builds sched_goodput.so for the Slurm of this Debian system, with the internal headers of Debian's source package.
#
#   build.sh [FOLDER]      default: build/slurm-plugin
#
# Needs g++, cmake, ninja-build, dpkg-dev and some of the packages that the README installs: libeigen3-dev,
# libceres-dev, libboost-graph-dev, liblbfgsb-dev, libcli11-dev, libjs-chart.js, zlib1g-dev and nlohmann-json3-dev.
# Nothing outside FOLDER is touched. The plugin is a work based on Slurm, whose licence is the GPL, version 2 or later:
# read README.md here before you distribute it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
folder=${1:-$root/build/slurm-plugin}
source=$("$here/source.sh" "$folder")
cmake -S "$root" -B "$folder/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D GOODPUT_BUILD_TESTS=OFF \
    -D GOODPUT_BUILD_BENCHMARKS=OFF -D GOODPUT_BUILD_COMPILED=OFF -D GOODPUT_INSTALL=OFF -D "GOODPUT_SLURM_SOURCE=$source"
cmake --build "$folder/build" --target sched_goodput
echo "$folder/build/examples/slurm/plugin/sched_goodput.so"
