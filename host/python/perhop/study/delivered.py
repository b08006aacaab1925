# SPDX-License-Identifier: GPL-2.0-or-later
"""What share of the packets that flows sent was delivered.

A flow that starves sends few packets, and they must not weigh as much as the thousands of another one: the share of
several flows is that of all their packets together.
"""

from __future__ import annotations

from collections.abc import Iterable

from perhop.study.results import Row


def packets(row: Row) -> tuple[float, float]:
    """(delivered, sent) of a flow. What TCP sent are those delivered and those sent again."""
    delivered = row["delivered_packets"]
    if row["kind"] == "tcp":
        return delivered, delivered + row["retransmissions"]
    # A flow of EXACT that sent, and delivered nothing, does not tell how much it sent.
    assert delivered or row["loss_share"] is None, f"{row['label']}: nothing arrived of what was sent"
    return delivered, delivered / (1.0 - row["loss_share"]) if delivered else 0.0


def delivered_share(rows: Iterable[Row]) -> float:
    """Of the packets of all these flows together; 0 where nothing was sent."""
    delivered, sent = (sum(counts) for counts in zip(*map(packets, rows), strict=True))
    return delivered / sent if sent else 0.0
