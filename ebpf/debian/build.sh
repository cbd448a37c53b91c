#!/usr/bin/env bash
# Builds the package of the loader alone: build.sh LOADER VERSION OUT_DIRECTORY
set -euo pipefail
loader=$(realpath "$1") version=$2 out=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
for program in dpkg-deb dpkg-shlibdeps gzip; do
    command -v "$program" >/dev/null || { echo "$program is missing: apt-get install dpkg-dev" >&2; exit 5; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
install -D -m 755 -s "$loader" "$root/usr/sbin/clearpipe-bpf"
install -D -m 644 "$here/clearpipe-bpf.toml" "$root/etc/clearpipe/clearpipe-bpf.toml"
install -D -m 644 "$here/clearpipe-bpf.service" "$root/lib/systemd/system/clearpipe-bpf.service"
doc=$root/usr/share/doc/clearpipe-bpf
install -D -m 644 "$here/grafana-dashboard.json" "$doc/grafana-dashboard.json"
install -d "$root/usr/share/man/man8"
gzip -9n < "$here/clearpipe-bpf.8" > "$root/usr/share/man/man8/clearpipe-bpf.8.gz"
cat "$here/../../LICENSE-MIT" - "$here/../../LICENSE-APACHE" > "$doc/copyright" <<< "
Or, at your choice:
"
# The libraries' packages, from the program itself.
mkdir "$work/debian"
printf 'Source: clearpipe-bpf\nPackage: clearpipe-bpf\nArchitecture: any\n' > "$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O "root/usr/sbin/clearpipe-bpf" 2>/dev/null | sed 's/^shlibs:Depends=//')
install -d "$root/DEBIAN"
cat > "$root/DEBIAN/control" <<CONTROL
Package: clearpipe-bpf
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: Clearpipe <clearpipe@localhost>
Section: net
Priority: optional
Depends: $libraries, iproute2
Installed-Size: $(du -ks --exclude=DEBIAN "$root" | cut -f1)
Description: explicit congestion control in the running kernel
 Routers of VCP, DPCP and MLCP on network devices, and their end hosts and those of
 XCP and iXCP as congestion controls, loaded as eBPF programs by one program that
 is also a service: with metrics, a kill switch and nothing left at its end.
CONTROL
echo /etc/clearpipe/clearpipe-bpf.toml > "$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 755 "$here/$script" "$root/DEBIAN/$script"; done
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | sort | xargs md5sum > DEBIAN/md5sums)
# The same files give the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
mkdir -p "$out"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >&2
echo "$out/clearpipe-bpf_${version}_$(dpkg --print-architecture).deb"
