# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop: experiments with a MAC that measures what every packet costs on every hop."""

__version__ = "0.1.0"
