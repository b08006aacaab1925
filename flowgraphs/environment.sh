# SPDX-License-Identifier: GPL-2.0-or-later
#
# shellcheck shell=bash
# Source this before GNU Radio Companion or a compiled example: where the blocks are, and perhop's Python.
perhop_flowgraphs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GRC_BLOCKS_PATH="$perhop_flowgraphs/blocks${GRC_BLOCKS_PATH:+:$GRC_BLOCKS_PATH}"
export PYTHONPATH="$perhop_flowgraphs/blocks:$perhop_flowgraphs/../host/python${PYTHONPATH:+:$PYTHONPATH}"
unset perhop_flowgraphs
