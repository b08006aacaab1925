#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Verilator -Wall over every module of gateware/rtl, each as a top of its own, so that one that nothing uses yet is checked too;
# modules with formal properties once more with FORMAL defined. Exits 1 when any of them has a warning.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

shopt -s globstar nullglob
modules=() packages=() search=()
for file in gateware/rtl/**/*.sv; do
  case $file in
    *_pkg.sv) packages+=("$file") ;;
    *) modules+=("$file") ;;
  esac
done
for folder in gateware/rtl/**/; do search+=(-y "$folder"); done
((${#modules[@]})) || { echo "lint: no module below gateware/rtl" >&2; exit 1; }

failed=0
# lint_module FILE [VERILATOR_ARGUMENT...]: silent when clean.
lint_module() {
  local file=$1 output
  shift
  if ! output=$(verilator --lint-only -Wall -Wpedantic --quiet-stats -sv "$@" --top-module "$(basename "$file" .sv)" \
    gateware/lint/*.vlt "${packages[@]}" "$file" "${search[@]}" 2>&1); then
    printf '== %s %s\n%s\n' "$file" "$*" "$output"
    failed=$((failed + 1))
  fi
}

for file in "${modules[@]}"; do
  lint_module "$file"
  if grep -q '`ifdef FORMAL' "$file"; then lint_module "$file" +define+FORMAL; fi
done
echo "lint: ${#modules[@]} modules, $failed with warnings"
((failed == 0))
