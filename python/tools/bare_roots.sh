#!/usr/bin/env bash
# Tries the wheels of a folder in bare Debian 12 roots, without a compiler, network or matplotlib:
# x86_64, and aarch64 under qemu-user. Then builds the sdist with nothing but its crates.
#
#     bare_roots.sh DIST ROOTS PYTHON
#
# PYTHON has uv and maturin (make wheels). The roots are kept in ROOTS, and nothing outside is
# touched: mounts, and the one that has aarch64 programs run by qemu, are in namespaces of their own,
# for which Linux 6.7 or newer is needed.
set -euo pipefail

dist=$(realpath "$1")
mkdir -p "$2"
roots=$(realpath "$2")
python=$(realpath -s "$3")
here=$(realpath "$(dirname "$0")")
source=$(realpath "$here/../..")
release=bookworm
# Without DEBIAN_MIRROR it is the one that debootstrap has.
mirror=${DEBIAN_MIRROR:-}
qemu=$(command -v qemu-aarch64-static || true)

lacks() {
    echo "make wheels-check needs $1" >&2
    exit 5
}
[ "$(id -u)" = 0 ] || lacks "root, which debootstrap needs"
command -v debootstrap >/dev/null || lacks "debootstrap: apt-get install debootstrap"
[ -n "$qemu" ] || lacks "qemu-aarch64-static: apt-get install qemu-user-static"

# Packages are unpacked and not configured: that needs no program of the root to run.
make_root() { # DEBIAN'S ARCHITECTURE, FOLDER
    [ ! -e "$2.complete" ] || return 0
    rm -rf "$2"
    echo "making a bare Debian root for $1 in $2"
    debootstrap --foreign --arch="$1" --variant=minbase --include=python3,python3-venv \
        "$release" "$2" ${mirror:+"$mirror"} >"$2.log" 2>&1 || { tail "$2.log" >&2; exit 1; }
    for package in "$2"/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -C "$2" -xf - --keep-directory-symlink --skip-old-files
    done
    # Where it may not mount, debootstrap leaves a link to the /proc outside.
    [ ! -L "$2/proc" ] || rm "$2/proc"
    mkdir -p "$2/proc" "$2/dev"
    for tool in gcc cc clang rustc cargo make; do
        [ ! -e "$2/usr/bin/$tool" ] || { echo "$2 has $tool" >&2; exit 1; }
    done
    touch "$2.complete"
}

# What Clearpipe needs without extras, as wheels for that Python and processor.
fetch_needs() { # ARCHITECTURE, FOLDER
    local plain="$2.txt"
    "$python" -m uv pip compile --quiet --no-annotate --no-header --generate-hashes --no-deps \
        --python-version 3.11 --python-platform "$1-manylinux_2_28" "$source/python/locks/user.txt" >"$plain"
    "$python" -m pip download --quiet --require-hashes --no-deps --only-binary :all: \
        --python-version 3.11 --platform "manylinux_2_28_$1" --platform "manylinux_2_27_$1" \
        --platform "manylinux_2_17_$1" --platform "manylinux2014_$1" --dest "$2" -r "$plain"
}

# In namespaces without a network, and with qemu for programs of aarch64 that are started in them.
enter() { # ROOT, COMMAND...
    unshare --map-root-user --mount --pid --net --fork bash -euc '
        root=$1 qemu=$2; shift 2
        mount -t proc proc /proc
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
        magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
        mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
        printf %s ":clearpipe-aarch64:M::$magic:$mask:$qemu:F" >/proc/sys/fs/binfmt_misc/register
        mount --rbind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 "$@"
    ' enter "$1" "$qemu" "${@:2}"
}

try() { # ARCHITECTURE
    local root=$roots/$1
    rm -rf "$root/wheels" "$root/clearpipe"
    mkdir -p "$root/wheels" "$root/clearpipe"
    fetch_needs "$1" "$root/wheels"
    cp "$dist"/clearpipe-*_"$1".whl "$here/try_wheel.py" "$here/check_fingerprints.py" \
        "$source/golden/packet-engine.txt" "$root/clearpipe"
    enter "$root" sh -c 'cd /clearpipe && exec /usr/bin/python3 try_wheel.py clearpipe-*.whl \
        --links /wheels --fingerprints packet-engine.txt'
}

make_root amd64 "$roots/x86_64"
try x86_64
make_root arm64 "$roots/aarch64"
try aarch64

# Without installing; what it needs comes from the index that is set, Clearpipe from the folder.
version=$(basename "$dist"/clearpipe-*.tar.gz .tar.gz)
rm -rf "$roots/uvx"
mkdir -p "$roots/uvx"
(cd "$roots/uvx" && UV_CACHE_DIR=$roots/uvx/cache "$(dirname "$python")/uvx" --python "$python" \
    --find-links "$dist" --from "clearpipe==${version#clearpipe-}" clearpipe demo --quiet >demo.txt)
test -s "$roots/uvx/demo/report.html"
echo "uvx clearpipe demo: works, with a folder as its index"

# The sdist: crates are fetched first, then there is no network.
rm -rf "$roots/sdist"
mkdir -p "$roots/sdist"
tar -C "$roots/sdist" --strip-components=1 -xf "$dist"/clearpipe-*.tar.gz
(cd "$roots/sdist" && cargo fetch --locked --quiet)
rm -rf "$roots/sdist"
PATH="$(dirname "$python"):$PATH" CARGO_NET_OFFLINE=true CARGO_TARGET_DIR="$roots/target" \
    MATURIN_PEP517_ARGS="--profile ci" unshare --map-root-user --net \
    "$python" -m pip wheel --quiet --no-index --no-deps --no-build-isolation \
    --wheel-dir "$roots/built" "$dist"/clearpipe-*.tar.gz
"$python" "$here/try_wheel.py" "$roots"/built/clearpipe-*.whl --lock "$source/python/locks/user.txt"
