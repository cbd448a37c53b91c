#!/usr/bin/env bash
# The package in a bare Debian: check.sh PACKAGE WORKDIR [KERNEL_PACKAGE]
# - installed in a chroot of its own (ALONE=0: where others load eBPF meanwhile), started and stopped 50 times by the unit's own commands, removed
#   and purged, with snapshots of everything that eBPF or the file system could keep. With CHROOT=0
#   nothing is loaded into this kernel: all of that is done in the virtual machine;
# - `systemd-analyze verify` of the unit;
# - with a kernel's package, booted under QEMU, where systemd itself runs the unit.
# Ends with 5 and the reason where a tool is missing. Needs root.
set -euo pipefail
# Read whole before it runs.
{
package=$(realpath "$1") work=$2 kernel=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
times=${TIMES:-50}
missing() { echo "not checked: $*" >&2; exit 5; }
test "$(id -u)" = 0 || missing "needs root"
for program in mmdebstrap unshare; do
    command -v "$program" >/dev/null || missing "$program: apt-get install mmdebstrap util-linux"
done
mkdir -p "$work"
work=$(realpath "$work")

# A root with systemd, once.
if ! test -f "$work/base.tar"; then
    mmdebstrap --quiet --format=tar --variant=minbase --include=systemd-sysv,iproute2,kmod,bpftool \
        --aptopt='APT::Sandbox::User "root"' "${SUITE:-bookworm}" "$work/base.tar.part" ${MIRROR:+"$MIRROR"}
    mv "$work/base.tar.part" "$work/base.tar"
fi
rm -rf "${work:?}/root"
mkdir "$work/root"
tar -C "$work/root" -xf "$work/base.tar"
cp "$package" "$work/root/var/tmp/clearpipe-bpf.deb"
install "$here/inside.sh" "$work/root/var/tmp/"

# In namespaces of its own, so that its pins, mounts and devices are nobody else's.
in_chroot() {
    echo "== in a chroot, $times times"
    unshare --mount --net --pid --fork --kill-child bash -euo pipefail -c '
        root=$1
        mount -t proc proc "$root/proc"
        mount -t sysfs sysfs "$root/sys"
        mount -t bpf bpf "$root/sys/fs/bpf"
        mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
        mount -t tmpfs tmpfs "$root/run"
        mount -t devtmpfs devtmpfs "$root/dev"
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TIMES="$2" ALONE="$3" chroot "$root" bash /var/tmp/inside.sh
    ' check "$work/root" "$times" "${ALONE:-1}"
}
booted_times=5
if test "${CHROOT:-1}" = 1; then
    in_chroot
else
    test -n "$kernel" || missing "a kernel's package, which CHROOT=0 needs"
    booted_times=$times
fi

if test -z "$kernel"; then
    echo "without systemd: no kernel is given"
    exit 0
fi
for program in cpio qemu-system-x86_64 dpkg-deb; do
    command -v "$program" >/dev/null || missing "$program: apt-get install qemu-system-x86 cpio"
done
echo "== with systemd, under QEMU"
if ! test -f "$kernel"; then
    (cd "$work" && apt-get download -qq "$kernel" >&2)
    kernel=$(ls -t "$work/${kernel}"_*.deb | head -1)
fi
# The root is as it was before: that has just been checked.
rm -rf "$work/kernel"
dpkg-deb -x "$kernel" "$work/kernel"
modules=$(cd "$work/kernel/lib/modules" && ls)
mkdir -p "$work/root/lib/modules/$modules"
for module in veth sch_tbf sch_ingress cls_bpf; do
    find "$work/kernel/lib/modules" -name "$module.ko*" -exec cp {} "$work/root/lib/modules/$modules/" \;
done
cp "$package" "$work/root/var/tmp/clearpipe-bpf.deb"
install "$here/booted.sh" "$here/inside.sh" "$work/root/var/tmp/"
install -m 644 "$here/booted.service" "$work/root/etc/systemd/system/"
mkdir -p "$work/root/etc/systemd/system/multi-user.target.wants"
ln -sf ../booted.service "$work/root/etc/systemd/system/multi-user.target.wants/booted.service"
ln -sf /lib/systemd/systemd "$work/root/init"
: > "$work/root/etc/fstab"
(cd "$work/root" && find . | cpio --quiet -o -H newc) > "$work/initrd"
accel=${ACCEL:-tcg}
# Without KVM, as `make linux-kernels`: it runs anywhere.
timeout $((900 + 20 * booted_times)) qemu-system-x86_64 -accel "$accel" -m 2048 -smp 2 -nographic -no-reboot \
    -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 panic=1 systemd.log_target=console systemd.show_status=0 systemd.setenv=TIMES=$booted_times systemd.mask=serial-getty@ttyS0.service" \
    > "$work/log" 2>&1 < /dev/null || true
tr -d '\r' < "$work/log" | grep -a 'RESULT' | sed 's/.*RESULT/RESULT/' || true
grep -aq 'RESULT end: all as it was' "$work/log" || { echo "failed: $work/log" >&2; exit 1; }
exit 0
}
