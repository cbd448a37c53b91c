#!/usr/bin/env bash
# Boots kernels of Debian under QEMU and runs end hosts and routers there: run.sh LOADER WORKDIR [PACKAGE...]
# Packages are linux-image-...; those that are no file are downloaded with apt-get. QEMU names the
# program. With PYTHON, an interpreter that has this package, the kernel's DCTCP runs over the linux
# engine, too.
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
# In an order in which each finds what it needs; what a kernel has built in is no module.
modules='veth sch_netem sch_tbf act_api sch_ingress cls_bpf llc stp garp mrp 8021q tun tcp_dctcp'

# A program with the libraries that it needs.
add() {
    install -D "$1" "$root/opt/$(basename "$1")"
    { ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        install -D "$library" "$root$library"
    done
}

# An interpreter with the package, and what both import.
add_python() {
    local base
    base=$("$PYTHON" -c 'import sys; print(sys.base_prefix)')
    add "$(realpath "$("$PYTHON" -c 'import sys; print(sys.executable)')")"
    mv "$root/opt/python3".* "$root/opt/python"
    mkdir -p "$root/python/lib" "$root/python/own"
    cp -r "$base"/lib/python3.* "$root/python/lib/"
    rm -rf "$root"/python/lib/python3.*/{site-packages,test,idlelib,tkinter,lib2to3,ensurepip,config-*}
    "$PYTHON" - <<'PY' | while read -r package; do cp -rL "$package" "$root/python/own/"; done
import sys
from pathlib import Path
import clearpipe.linux.engine, clearpipe.linux.process
tops = {name.split(".")[0] for name in sys.modules}
for name in sorted(tops):
    file = getattr(sys.modules.get(name), "__file__", None)
    if file and ("site-packages" in file or name == "clearpipe"):
        path = Path(file)
        print(path.parent if path.name == "__init__.py" else path)
PY
    find "$root/python" -name __pycache__ -prune -exec rm -r {} +
    find "$root/python" -name '*.so' | while read -r file; do
        { ldd "$file" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
            test -e "$root$library" || install -D "$library" "$root$library"
        done
    done
    add "$(command -v nsenter)"
    cp "$here/dctcp.py" "$root/"
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
    for module in $modules; do
        find "$work/$name/kernel" -name "$module.ko*" | while read -r file; do
            cp "$file" "$root/"
            case $file in *.xz) xz -d "$root/$module.ko.xz" ;; esac
            echo "/$module.ko" >> "$root/modules"
        done
    done
    if test -n "${PYTHON:-}"; then add_python; fi
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/$name/initrd"
    # Without KVM: slow, but it runs anywhere. The guest's clock counts its instructions, so that a
    # busy machine changes nothing that happens in it.
    timeout 1800 $qemu -accel tcg -icount shift=0,sleep=off -cpu max -m 1536 -smp 1 -nographic -no-reboot \
        -kernel "$work/$name"/kernel/boot/vmlinuz-* -initrd "$work/$name/initrd" \
        -append "console=ttyS0 quiet panic=1 mitigations=off" > "$log" 2>&1 < /dev/null || true
    tr -d '\r' < "$log" | grep -a '^RESULT' | tee "$work/$name/results" || true
    judge "$name"
}

# What must be among the results, and what is not.
judge() {
    local name=$1 results=$work/$1/results bad=0 ran router coded
    wrong() { echo "$name: $*: $work/$name/log" >&2; bad=1; }
    grep -q '^RESULT end' "$results" || wrong "did not come to its end"
    grep -q '^RESULT dpcp-decoupled is there' "$results" || wrong "dpcp-decoupled failed"
    for protocol in vcp dpcp mlcp xcp ixcp vcp-decoupled; do
        for peer in 10.76.0.2 fd76::2; do
            ran="${protocol//-/_} to $peer: ([1-9]|0\.[1-9]).* 0 wrong"
            grep -qE "^RESULT (router .* plain|$protocol alone): $ran" "$results" || wrong "$protocol to $peer failed"
        done
    done
    # Nine packets in ten of the data have a code or feedback, but none under two tags. iperf3's
    # own connection has none.
    ran=$(sed -nE 's/^RESULT router ([a-z]+)-router ([a-z-]+): .*uncoded ([0-9]+), [a-z]+ ([0-9]+), [a-z]+ ([0-9]+), [a-z]+ ([0-9]+), .*/\1 \2 \3 \4 \5 \6/p' "$results")
    while read -r router where uncoded first second third; do
        test -n "$router" || continue
        coded=$((first + second + third))
        case $where in
        vlan-double) test $coded = 0 || wrong "$router $where: $coded coded" ;;
        *) test $coded -gt $((9 * uncoded)) || wrong "$router $where: $uncoded uncoded, $coded coded" ;;
        esac
    done <<< "$ran"
    if ! grep -q 'a router needs Linux 6.2' "$results"; then
        # Six protocols and two over VLANs in three places, each over IPv4 and IPv6.
        test "$(grep -c . <<< "$ran")" = 24 || wrong "not 24 runs past a router"
    fi
    if test -n "${PYTHON:-}"; then
        "$PYTHON" "$here/dctcp.py" judge "$results" || wrong "DCTCP is further from the packet engine"
    fi
    return $bad
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
