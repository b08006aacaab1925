# SPDX-License-Identifier: GPL-2.0-or-later
"""What works on a node during a run in real time, in a namespace or on a host over SSH.

Standard library and Python 3.10 only, nothing else of perhop: the modules are sent over as text (`realtime.session`),
so that a host needs no perhop but the daemon.
"""
