#!/bin/bash
# Under systemd in a virtual machine: installs the package, lets systemd start and stop it, kills it once,
# switches it off and on, removes it. A line "RESULT ..." each.
say() { echo "RESULT $*"; }
fail() { say "FAILED: $*"; exit 1; }
for module in /lib/modules/"$(uname -r)"/*.ko*; do insmod "$module" || say "module $module failed"; done
say "kernel $(uname -r), $(systemctl --version | head -1)"
# What the chroot has, in a kernel that is nobody else's; it makes the devices.
TIMES=${TIMES:-5} bash /var/tmp/inside.sh > /tmp/inside 2>&1 || fail "without systemd: $(tail -20 /tmp/inside)"
while read -r line; do say "without systemd: $line"; done < /tmp/inside

snapshot() {
    find /sys/fs/bpf -mindepth 1 | sort
    for dev in r0 r1; do
        tc qdisc show dev $dev
        ip -d link show dev $dev | grep -o 'gso_max_segs [0-9]*'
    done
    cat /proc/sys/net/ipv4/tcp_available_congestion_control
    ls /etc/systemd/system/multi-user.target.wants
    bpftool link list | sed 's/^[0-9]*: //'
    bpftool map list | sed -n 's/^[0-9]*: //p'
    bpftool prog list | sed -n 's/^[0-9]*: \([a-z_]*\)  *name \([^ ]*\).*/\1 \2/p' | grep -v cgroup_
}
snapshot > /tmp/before
dpkg -i /var/tmp/clearpipe-bpf.deb > /tmp/dpkg 2>&1 || fail "install: $(tail -1 /tmp/dpkg)"
cat > /etc/clearpipe/clearpipe-bpf.toml <<TOML
[links.wan]
device = "r0"
queue = "vcp"
rate = "20Mbps"

[hosts.vcp]
devices = ["r0", "r1"]
for_all = true

[hosts.xcp]
devices = ["r0", "r1"]

[service]
metrics = "127.0.0.1:9653"
TOML
systemctl enable --now clearpipe-bpf.service || fail "start: $(journalctl -n 5 -u clearpipe-bpf)"
say "active: $(systemctl is-active clearpipe-bpf)"
grep -q vcp /proc/sys/net/ipv4/tcp_allowed_congestion_control || fail "vcp is not allowed to all"
exec 3<>/dev/tcp/127.0.0.1/9653
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
say "metrics: $(cat <&3 | grep -c '^clearpipe_') samples"
exec 3>&-
main=$(systemctl show -p MainPID --value clearpipe-bpf)
kill -KILL "$main"
for _ in $(seq 60); do
    sleep 0.5
    now=$(systemctl show -p MainPID --value clearpipe-bpf)
    if test "$(systemctl is-active clearpipe-bpf)" = active && test "$now" != "$main"; then break; fi
done
test "$(systemctl is-active clearpipe-bpf)" = active || fail "not started again after kill -9"
say "killed with -9: started again"
say "$(clearpipe-bpf off)"
systemctl restart clearpipe-bpf
clearpipe-bpf status --json | grep -q '"off":true' || fail "a restart switched it on"
say "$(clearpipe-bpf on)"
systemctl reload clearpipe-bpf || fail "reload"
for _ in $(seq 10); do systemctl restart clearpipe-bpf || fail "restart"; done
say "restarted 10 times: $(systemctl is-active clearpipe-bpf)"
say "security: $(systemd-analyze security clearpipe-bpf.service 2>/dev/null | tail -1 | tr -dc ' -~')"
systemctl stop clearpipe-bpf || fail "stop"
test -z "$(ls /sys/fs/bpf)" || fail "pins after stop: $(ls /sys/fs/bpf)"
systemctl start clearpipe-bpf || fail "start"
dpkg -P clearpipe-bpf > /tmp/dpkg 2>&1 || fail "purge: $(tail -1 /tmp/dpkg)"
sleep 1
snapshot > /tmp/after
diff /tmp/before /tmp/after > /tmp/diff || fail "left: $(cat /tmp/diff)"
test -e /etc/clearpipe && fail "/etc/clearpipe is left"
say "end: all as it was"
