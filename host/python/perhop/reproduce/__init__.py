# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' claims beside what is measured here (`perhop reproduce`), and what the experiments' checks share."""
