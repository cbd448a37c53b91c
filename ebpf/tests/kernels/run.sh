#!/usr/bin/env bash
# Boots kernels of Debian under QEMU and runs the end hosts there: run.sh LOADER WORKDIR [PACKAGE...]
# Packages are linux-image-...; those that are no file are downloaded with apt-get. QEMU names the program.
set -euo pipefail
loader=$1 work=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
qemu=${QEMU:-qemu-system-x86_64}
busybox=${BUSYBOX:-busybox}
for program in "${qemu%% *}" "$busybox" cpio dpkg-deb ip tc iperf3; do
    command -v "$program" >/dev/null || {
        echo "$program is missing: apt-get install qemu-system-x86 busybox-static cpio" >&2
        exit 5
    }
done
modules='veth|sch_netem|sch_tbf|sch_ingress|cls_bpf|act_api'

# A program with the libraries that it needs.
add() {
    install -D "$1" "$root/opt/$(basename "$1")"
    { ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        install -D "$library" "$root$library"
    done
}

boot() {
    local package=$1 name root log
    name=$(basename "$package" .deb)
    root=$work/$name/root log=$work/$name/log
    rm -rf "${work:?}/$name"
    mkdir -p "$root"/{proc,sys,dev,run,tmp,bin,opt} "$work/$name/kernel"
    dpkg-deb -x "$package" "$work/$name/kernel"
    install -D "$(command -v "$busybox")" "$root/bin/busybox"
    for program in ip tc iperf3; do add "$(command -v $program)"; done
    add "$loader"
    install "$here/init" "$root/init"
    find "$work/$name/kernel" -regextype posix-extended -regex ".*/($modules)\.ko(\.xz)?" |
        while read -r module; do
            cp "$module" "$root/"
            case $module in *.xz) xz -d "$root/$(basename "$module")" ;; esac
        done
    (cd "$root" && ls /dev/null ./*.ko | grep '\.ko$' | sed 's,^\.,,' > modules)
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/$name/initrd"
    # Without KVM: slow, but it runs anywhere.
    timeout 600 $qemu -accel tcg -m 1024 -smp 1 -nographic -no-reboot \
        -kernel "$work/$name"/kernel/boot/vmlinuz-* -initrd "$work/$name/initrd" \
        -append "console=ttyS0 quiet panic=1" > "$log" 2>&1 < /dev/null || true
    tr -d '\r' < "$log" | grep -a '^RESULT' || true
    grep -aq '^RESULT end' "$log" || { echo "$name: did not come to its end: $log" >&2; return 1; }
    grep -aq '^RESULT dpcp-decoupled is there' "$log" || {
        echo "$name: dpcp-decoupled failed: $log" >&2
        return 1
    }
    for protocol in vcp dpcp mlcp xcp ixcp vcp-decoupled; do
        for peer in 10.76.0.2 fd76::2; do
            ran="^RESULT $protocol ran ${protocol//-/_} to $peer: ([1-9]|0\.[1-9]).* 0 wrong"
            grep -aqE "$ran" "$log" || {
                echo "$name: $protocol to $peer failed: $log" >&2
                return 1
            }
        done
    done
}

failed=0
mkdir -p "$work"
for package in "$@"; do
    if ! test -f "$package"; then
        (cd "$work" && apt-get download "$package" >&2)
        package=$(ls -t "$work/$package"_*.deb | head -1)
    fi
    boot "$package" || failed=1
done
exit $failed
