#!/usr/bin/env bash
# Downloads Debian's source package of the Slurm that is installed here, and prints the folder of the source.
#
#   source.sh FOLDER       into FOLDER/source
#
# Needs dpkg-dev. Nothing outside FOLDER is touched: the script uses its own package lists.
set -euo pipefail
mkdir -p "$1"/{lists/partial,cache/archives/partial}
folder=$(cd "$1" && pwd)
if [[ ! -e $folder/source/META ]]; then
    version=$(dpkg-query -W -f '${source:Version}' slurmctld)
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
    printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s main\n' "$mirror/debian $suite" \
        "$mirror/debian $suite-updates" "$mirror/debian-security $suite-security" >"$folder/sources.list"
    apt=(apt-get -q -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=)
    "${apt[@]}" update >&2
    (cd "$folder" && "${apt[@]}" source --download-only "slurm-wlm=$version" >&2)
    rm -rf "$folder/source"
    dpkg-source --no-check -x "$folder"/slurm-wlm_*.dsc "$folder/source" >&2
fi
echo "$folder/source"
