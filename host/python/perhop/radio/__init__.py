# SPDX-License-Identifier: GPL-2.0-or-later
"""An experiment over the air: nodes are hosts with radios, reached over SSH (`perhop run --backend radio`)."""
