#!/usr/bin/env bash
# A Debian kernel with sch_dualpi2 and what tries it, as WORKDIR/vmlinuz and WORKDIR/initrd: build.sh WORKDIR
# Debian's kernels leave the module out (7.2, 7.3: CONFIG_NET_SCH_DUALPI2 is not set). It is built
# here from Debian's source package of the same kernel, unchanged, with that kernel's headers and
# compiler. Ends with 5 and the reason where that cannot be had.
set -euo pipefail
work=$1
here=$(cd "$(dirname "$0")" && pwd)
missing() { echo "not run: $*" >&2; exit 5; }
test "$(id -u)" = 0 || missing "needs root"
for program in mmdebstrap qemu-system-x86_64 busybox cpio xz; do
    command -v $program >/dev/null || missing "$program: apt-get install mmdebstrap qemu-system-x86 busybox-static cpio"
done
mkdir -p "$work"
work=$(realpath "$work")
root=$work/root

if ! test -f "$work/root.made"; then
    rm -rf "${root:?}"
    # Of newer kernels linux-image-... only names the packages that have image and modules.
    fetch='mkdir /packages; cd /packages; v=$(ls /lib/modules)
        for name in image binary modules; do apt-get -qq download linux-$name-$v || test $name != image; done
        apt-get -qq download "linux-source-$(echo $v | cut -d. -f1,2)"'
    # A mirror may be a copy of some weeks ago; its signature is checked all the same.
    mmdebstrap --quiet --variant=apt --format=directory \
        --include=make,iproute2,iperf3,linux-headers-amd64,xz-utils \
        --aptopt='APT::Install-Recommends "false"' --aptopt='APT::Sandbox::User "root"' \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --customize-hook="chroot \"\$1\" sh -ec '$fetch'" \
        "${SUITE:-forky}" "$root" ${MIRROR:+"$MIRROR"} || missing "no root of Debian ${SUITE:-forky}"
    touch "$work/root.made"
fi
kernel=$(ls "$root/lib/modules")
modules=$root/lib/modules/$kernel
for package in "$root"/packages/linux-{image,binary,modules}-*.deb; do
    test -f "$package" && dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink
done
if ! find "$modules/" -name 'sch_dualpi2.ko*' | grep -q .; then
    mkdir -p "$root/dualpi2"
    dpkg-deb --fsys-tarfile "$root"/packages/linux-source-*.deb |
        tar -xO --wildcards '*/linux-source-*.tar.xz' |
        tar -xJ -C "$root/dualpi2" --strip-components=3 --wildcards '*/net/sched/sch_dualpi2.c' ||
        missing "the source of $kernel has no sch_dualpi2.c"
    echo 'obj-m := sch_dualpi2.o' > "$root/dualpi2/Makefile"
    # objtool reads /proc.
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" make -s -C "/lib/modules/$kernel/build" M=/dualpi2 modules \
        > "$work/module.log" 2>&1 ||
        missing "the module cannot be built: $(tail -1 "$work/module.log")"
    install -D -m 644 "$root/dualpi2/sch_dualpi2.ko" "$modules/updates/sch_dualpi2.ko"
fi

guest=$work/guest
rm -rf "${guest:?}"
mkdir -p "$guest"/{proc,sys,dev,run,tmp,bin,lib64}
install -D "$(command -v busybox)" "$guest/bin/busybox"
install "$here/init" "$guest/init"
for program in ip tc iperf3; do
    path=$(chroot "$root" sh -c "command -v $program")
    install -D "$root$path" "$guest/opt/$program"
    chroot "$root" ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
        install -D "$(realpath "$root$library")" "$guest$library"
    done
done
# In an order in which each finds what it needs.
for module in veth act_pedit act_csum cls_matchall sch_ingress sch_netem sch_htb sch_dualpi2 tcp_dctcp; do
    found=$(find "$modules/" -name "$module.ko*" | head -1)
    test -n "$found" || continue
    cp "$found" "$guest/"
    case $found in *.xz) xz -df "$guest/$(basename "$found")" ;; esac
    echo "/$module.ko" >> "$guest/modules"
done
(cd "$guest" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/initrd"
image=$root/boot/vmlinuz-$kernel
test -f "$image" || image=$modules/vmlinuz
cp "$image" "$work/vmlinuz"
echo "$kernel" > "$work/kernel"
