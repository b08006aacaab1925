# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools, made into experiments."""
