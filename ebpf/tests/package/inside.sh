#!/usr/bin/env bash
# In the bare root: installs the package, starts and stops the unit's commands as systemd would, removes
# it, and compares what is there before and after. $TIMES times. Without ALONE=0 nobody else may load eBPF
# meanwhile.
set -euo pipefail
unit=/lib/systemd/system/clearpipe-bpf.service
config=/etc/clearpipe/clearpipe-bpf.toml
fail() { echo "FAILED: $*" >&2; exit 1; }

ip link set lo up
ip link add r0 type veth peer name r1
ip link set r0 up
ip link set r1 up
tc qdisc add dev r0 root tbf rate 20mbit burst 5kb limit 200kb

# All links, maps and programs of this kernel but systemd's own (it filters devices of cgroups).
kernel() {
    bpftool link list | sed 's/^[0-9]*: //'
    bpftool map list | sed -n 's/^[0-9]*: //p'
    bpftool prog list | sed -n 's/^[0-9]*: \([a-z_]*\)  *name \([^ ]*\).*/\1 \2/p' | grep -v cgroup_ || true
}

# Everything that could be left: pins, qdiscs and filters, devices' settings, protocols, files, mounts.
snapshot() {
    find /sys/fs/bpf -mindepth 1 | sort
    for dev in r0 r1; do
        tc qdisc show dev $dev
        for way in ingress egress; do tc filter show dev $dev $way 2>/dev/null || true; done
        ip -d link show dev $dev | grep -o 'gso_max_segs [0-9]*'
    done
    tr ' ' '\n' < /proc/sys/net/ipv4/tcp_available_congestion_control | grep -x ixcp || true
    cat /proc/self/mounts
    ls /run
}

# The kernel frees a congestion control's maps and programs some time after nobody has them any more
# (grace periods of RCU and of its tasks, in a work queue): they have 30 s. The longest wait is told.
longest=0
freed() {
    if test "${ALONE:-1}" != 1; then return; fi
    local began now
    began=$(date +%s%N)
    until kernel | diff /var/tmp/kernel-before - > /var/tmp/kernel-left; do
        now=$((($(date +%s%N) - began) / 1000000))
        if test $now -gt 30000; then cat /var/tmp/kernel-left; return 1; fi
        sleep 0.02
    done
    now=$((($(date +%s%N) - began) / 1000000))
    if test $now -gt $longest; then longest=$now; fi
}
files() { find /etc /lib /usr /var/lib -xdev \( -path /var/lib/dpkg -o -path /var/lib/systemd \) -prune -o -print | sort; }

files > /var/tmp/files-before
dpkg -i /var/tmp/clearpipe-bpf.deb > /var/tmp/dpkg.log 2>&1 || { cat /var/tmp/dpkg.log; fail "install"; }
clearpipe-bpf --version
test -s /usr/share/man/man8/clearpipe-bpf.8.gz || fail "no manual"
! dpkg -L clearpipe-bpf | grep -i python || fail "Python in the package"
# It would ask man, which a bare root has not.
told=$(systemd-analyze verify --man=no "$unit" 2>&1) || fail "systemd-analyze verify: $told"
test -z "$told" || fail "systemd-analyze verify: $told"
echo "systemd-analyze verify: nothing to say"
# As installed it names nothing.
set +e
clearpipe-bpf check --config $config 2>/var/tmp/said
test $? = 2 || fail "the empty file is no error"
set -e
grep -q 'names nothing to load' /var/tmp/said || fail "$(cat /var/tmp/said)"
cat > $config <<TOML
[links.wan]
device = "r0"
queue = "vcp"
rate = "20Mbps"

[hosts.ixcp]
devices = ["r0", "r1"]

[service]
log_format = "json"
TOML
clearpipe-bpf check --config $config

# `Key=` of the unit, with the process in place of \$MAINPID.
run() { eval "$(sed -n "s/^$1=//p" "$unit" | sed "s/\$MAINPID/${2:-}/")"; }
: > /var/tmp/service.log
snapshot > /var/tmp/before
kernel > /var/tmp/kernel-before
for try in $(seq "$TIMES"); do
    # exec, so that the process is the service's and not a shell's.
    eval "exec $(sed -n 's/^ExecStart=//p' "$unit")" 2>> /var/tmp/service.log &
    main=$!
    for _ in $(seq 100); do
        if test "$(clearpipe-bpf status --json | grep -o '"direction"' | wc -l)" = 3; then break; fi
        sleep 0.05
    done
    kill -0 $main || fail "try $try: it ended: $(tail -1 /var/tmp/service.log)"
    test "$(clearpipe-bpf status --json | grep -o '"name"' | wc -l)" = 2 || fail "try $try: not loaded"
    if test $((try % 10)) = 0; then
        # What a crash leaves is ExecStopPost's.
        kill -KILL $main
    else
        run ExecStop $main
    fi
    wait $main 2>/dev/null || test $? = 137 || fail "try $try: exit status"
    run ExecStopPost
    snapshot > /var/tmp/after
    # The lock's file is the first run's.
    diff <(sed '/^clearpipe-bpf.lock$/d' /var/tmp/before) <(sed '/^clearpipe-bpf.lock$/d' /var/tmp/after) \
        || fail "try $try left something"
    freed || fail "try $try left something in the kernel"
done
echo "started and stopped $TIMES times: nothing left after any"
if test "${ALONE:-1}" = 1; then echo "the kernel had freed all maps and programs after $longest ms at most"; fi
python3 --version 2>/dev/null && fail "this root has Python" || true
echo "$(grep -c '"event":"ready"' /var/tmp/service.log) times ready in the log"

dpkg -r clearpipe-bpf >> /var/tmp/dpkg.log 2>&1 || fail "remove"
test -f $config || fail "the file of settings is gone before purge"
dpkg -P clearpipe-bpf >> /var/tmp/dpkg.log 2>&1 || fail "purge"
files > /var/tmp/files-after
diff /var/tmp/files-before /var/tmp/files-after || fail "files left after purge"
snapshot > /var/tmp/after
diff /var/tmp/before /var/tmp/after || fail "purge left something"
freed || fail "purge left something in the kernel"
echo "installed, removed, purged: nothing left"
