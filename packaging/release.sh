#!/usr/bin/env bash
# Makes what a release has to offer of the clone that this file lies in: the source as a tarball, the one header, the site,
# and a wheel for machines like this one.
#
#     packaging/release.sh [--tag v1.2.3] FOLDER
#
# Refuses a tag that is not of the version of include/goodput/version.hpp.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/.*string_view version = "\(.*\)";.*/\1/p' include/goodput/version.hpp)
if [[ ${1-} == --tag ]]; then
    if [[ $2 != "v$version" ]]; then
        echo "the tag is $2, but the version is $version" >&2
        exit 1
    fi
    shift 2
fi
folder=$(realpath -m "${1:?usage: packaging/release.sh [--tag v1.2.3] FOLDER}")
mkdir -p "$folder"

git archive --prefix="goodput-$version/" --output="$folder/goodput-$version.tar.gz" HEAD
python3 packaging/single_header.py --output "$folder/goodput_allot.hpp"
python3 packaging/site/build.py --output build/site
tar -C build -czf "$folder/goodput-$version-site.tar.gz" site
cmake --workflow --preset libraries
cmake --build build/libraries --target goodput_wheel
cp build/libraries/wheel/goodput-"$version"-*.whl "$folder"
ls -l "$folder"
