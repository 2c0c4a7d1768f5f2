#!/usr/bin/env bash
# Installs the Debian packages named, those only that are missing.
#
#   install-packages.sh PACKAGE[:PROGRAM]...
#
# A package is missing when its PROGRAM is not on the path, or, without one, when dpkg does not
# know it as installed. Needs root or sudo without a password; else it prints the command to run.
set -euo pipefail

missing=()
for entry in "$@"; do
    package=${entry%%:*}
    if [[ $entry == *:* ]]; then
        command -v "${entry#*:}" >/dev/null || missing+=("$package")
    elif [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
        missing+=("$package")
    fi
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "needed, and apt-get is not here to install them: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
        echo "these packages are missing; please run:" >&2
        echo "  sudo apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo -n)
fi

echo "== apt-get install ${missing[*]}"
# Its only question: whether users other than root may capture. Nothing here captures live.
echo "wireshark-common wireshark-common/install-setuid boolean false" |
    "${as_root[@]}" debconf-set-selections
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
