#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds an FPGA image with perhop in it, with your own UHD source tree and Vivado:
#   hw/images/build.sh --uhd DIR [--vivado DIR] [--target TARGET] [--generate-only] IMAGE
#   --uhd DIR        UHD's source tree, 4.3 or later: the tag of the UHD that your hosts run
#   --vivado DIR     where Vivado is, if not in its default place (UHD 4.3: 2021.1; WebPACK is enough for E310)
#   --target TARGET  of the device, if not the image core's own: E310_SG3, E320_XG, ...
#   --generate-only  stops before Vivado: NoC shells and image core alone
#   IMAGE            one of hw/images/image_cores.py; without it, build.sh names them
# Everything is written to out/hw, nothing to UHD's tree but what its own make builds there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

die() {
  printf 'build.sh: %s\n' "$@" >&2
  exit 1
}

uhd="" vivado=() target=() generate_only=0 image=""
while (($#)); do
  case $1 in
    --uhd) uhd=${2:?"--uhd needs a directory"}; shift ;;
    --vivado) vivado=(--vivado-path "${2:?"--vivado needs a directory"}"); shift ;;
    --target) target=(-t "${2:?"--target needs a name"}"); shift ;;
    --generate-only) generate_only=1 ;;
    -h | --help) sed -n '4,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "there is no option $1; --help lists them" ;;
    *) image=$1 ;;
  esac
  shift
done

[[ -n $image ]] || die "which image? One of: $(python3 hw/images/image_cores.py)"
mkdir -p out/hw
python3 hw/images/image_cores.py "$image" >"out/hw/$image.yml" || die "no image core was made"
[[ -n $uhd ]] || die "--uhd DIR is missing: a clone of https://github.com/EttusResearch/uhd, at the tag of your hosts' UHD"
[[ -d $uhd/fpga/usrp3/top ]] || die "$uhd is no UHD source tree: it has no fpga/usrp3/top"
uhd=$(cd "$uhd" && pwd)
command -v rfnoc_image_builder >/dev/null || die "there is no rfnoc_image_builder on PATH: it comes with UHD (Debian: uhd-host, python3-uhd)"

# The NoC shells: UHD's own generator, wherever that version has it.
shells=$root/out/hw/noc_shells
mkdir -p "$shells" out/hw/generated
for block in perhop perhop_stream; do
  made=out/hw/generated/$block
  rm -rf "$made"
  if [[ -f $uhd/host/utils/rfnoc_blocktool/rfnoc_create_verilog.py ]]; then
    (cd "$uhd/host/utils/rfnoc_blocktool" &&
      /usr/bin/env python3 rfnoc_create_verilog.py -c "$root/hw/rfnoc/blocks/$block.yml" -d "$root/$made") ||
      die "UHD's rfnoc_create_verilog.py does not take hw/rfnoc/blocks/$block.yml (it needs the Python packages mako and ruamel.yaml)"
  elif command -v rfnoc_modtool >/dev/null; then
    mkdir -p "$made/rfnoc/blocks"
    cp "hw/rfnoc/blocks/$block.yml" "$made/rfnoc/blocks/"
    (cd "$made" && rfnoc_modtool make-shell "$block") || die "rfnoc_modtool makes no NoC shell of $block.yml"
  else
    die "UHD's generator of NoC shells is not there: neither $uhd/host/utils/rfnoc_blocktool nor rfnoc_modtool (UHD 4.8) on PATH"
  fi
  shell=$(find "$made" -name "noc_shell_$block.v" | head -n 1)
  [[ -n $shell ]] || die "UHD's generator made no noc_shell_$block.v below $made"
  cp "$shell" "$shells/"
done

echo "build.sh: NoC shells in out/hw/noc_shells, image core in out/hw/$image.v"
export PERHOP_SHELLS=$shells
arguments=(-y "out/hw/$image.yml" -F "$uhd/fpga" -I "$root/hw/rfnoc" "${target[@]}" -o "out/hw/$image.v" -x "out/hw/$image.hex")
if ((generate_only)); then
  exec rfnoc_image_builder "${arguments[@]}" --generate-only
fi
if ((${#vivado[@]} == 0)) && ! command -v vivado >/dev/null && ! compgen -G '/tools/Xilinx/Vivado/*' >/dev/null && ! compgen -G '/opt/Xilinx/Vivado/*' >/dev/null; then
  die "there is no Vivado in its usual places; --vivado DIR says where it is, --generate-only does without"
fi
rfnoc_image_builder "${arguments[@]}" "${vivado[@]}"
echo "build.sh: the bit file and its reports are in $uhd/fpga/usrp3/top/*/build (device ${image%%_*})."
echo "          Timing first: look for 'All user specified timing constraints are met' in post_route_timing_summary.rpt."
