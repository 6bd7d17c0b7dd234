#!/usr/bin/env bash
# Compiles tests/sim/determinism_test.cpp with both compilers, unoptimised with assertions and optimised without, and
# compares what each decides in the recorded rounds, bit by bit. Ten minutes of one core.
#
#     tests/determinism.sh [DATA]        # DATA: where the published measurements are; ../shared/data if left out
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath "${1:-../shared/data}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sources=(tests/sim/determinism_test.cpp tests/main.cpp program/replay/{scene,profiles,workload,embedded}.cpp program/json/csv.cpp)
paths=(-Iinclude -Itests -Iprogram -isystem "${EIGEN3_INCLUDE_DIR:-/usr/include/eigen3}")
first=
for options in "-O0" "-O3 -DNDEBUG"; do
    for compiler in g++ clang++; do
        build="$folder/$compiler${options// /}"
        mkdir "$build"
        for source in "${sources[@]}"; do
            # shellcheck disable=SC2086
            "$compiler" -std=c++20 $options "-DGOODPUT_DATA_DIR=\"$data\"" "${paths[@]}" -c "$source" \
                -o "$build/$(basename "$source").o"
        done
        "$compiler" "$build"/*.o -o "$build/test"
        (cd "$build" && ./test >/dev/null)
        first=${first:-$build/decisions.txt}
        cmp "$first" "$build/decisions.txt"
        echo "$compiler $options: $(wc -l <"$build/decisions.txt") rounds, $(sha256sum <"$build/decisions.txt" | cut -c1-16)"
    done
done
