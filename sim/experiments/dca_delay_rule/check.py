# SPDX-License-Identifier: GPL-2.0-or-later
"""Section V-B of paper 001: a round trip above 80 ms limits the delay window to 5 (row D-26).

The switch is judged on host/core's rule, and on the air by how many packets a TCP ACK stands for. The paper combines
the rules as "5 above 80 ms, else by hops", which would raise the window of a wireless path of ten hops and more from 3
to 5; ours takes the smaller of both (host/core/policy/tcp_ack_window_table.hpp), so those paths are told apart here.
"""

from __future__ import annotations

from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, MARKERS, drawing
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed

SWITCH_US = 80_000
WINDOW = 5
LONG_HOPS_LEAST, LONG_WINDOW = 10, 3  # Table I
JUDGED_HOPS = 10
LEAST_MS, MOST_MS = 60, 110
ONE_PACKET = "cwl 1"
BY_HOP, BY_DELAY, BY_BOTH = "dca no resend", "dca by delay no resend", "dca by hop and delay no resend"
FIVE, WHOLE = "dca 5 no resend", "dca cwnd no resend"
# Neither side of the switch is sure on the air where the round trip of the empty path is this near to 80 ms.
NEAR_MS = 5.0
# A receiver keeps to the rule's window when it sends as many TCP ACKs as with that window given as a constant.
SAME_WITHIN = 0.05
SETTLED_S = 5.0  # the first samples are those of the small packets that open the connection


def check(results: Results | None, folder: Path) -> Check:
    """The rule's vectors, the round trip of the empty path, and the window that the receivers keep to."""
    assert results is not None
    wrong = _rule()
    least_ms = _least_ms(results)
    packets = {key: 1 / mean_of(cell).value for key, cell in by_seed(results, "tcp_acks_per_packet").items()}
    all_hops = sorted({hops for hops, _ in packets})
    names = (BY_DELAY, BY_BOTH, FIVE, WHOLE, BY_HOP)
    lines = ["hops, least RTT of one packet; packets a TCP ACK stands for: by delay, by both; 5, whole window, Table I"]
    for hops in all_hops:
        told = "".join(f"{packets[hops, policy]:>8.2f}" for policy in names)
        lines.append(f"{hops:>4} {least_ms[hops]:>10.1f} {told}")
    air = _on_the_air(all_hops, least_ms, packets)
    path_ms = least_ms[JUDGED_HOPS]
    in_band = LEAST_MS <= path_ms <= MOST_MS
    measured = (
        f"least round trip of the empty chain of {JUDGED_HOPS} hops {path_ms:.1f} ms ({LEAST_MS} to {MOST_MS}); the "
        f"rule switches from the whole window to {WINDOW} between {SWITCH_US} and {SWITCH_US + 1} us; on the air the "
        f"window by delay is whole up to {_last(all_hops, least_ms, below=True)} hops and {WINDOW} from "
        f"{_last(all_hops, least_ms, below=False)} on"
    )
    wrong += air
    if not in_band:
        wrong.append(f"least round trip {path_ms:.1f} ms")
    holds = not wrong
    row = RowVerdict("pass" if holds else "fail", measured if holds else f"{measured}; but {'; '.join(wrong)}")
    lines.append(f"D-26: {row.measured}: {row.verdict}")
    figure = folder / "D-26_delay_rule.svg"
    _draw(figure, all_hops, least_ms, packets)
    return Check(holds, lines, {}, [figure], {"D-26": row})


def _rule() -> list[str]:
    """What the rule says on both sides of the switch, and of a round trip that is unknown; alone and with Table I."""
    wrong = []
    whole = core.WHOLE_WINDOW_PACKETS
    delay, both = core.DcaWindowRule.delay, core.DcaWindowRule.hop_and_delay
    for hops in range(1, 21):
        table = whole if hops <= 3 else WINDOW if hops < LONG_HOPS_LEAST else LONG_WINDOW
        for rtt_us, by_delay in ((1, whole), (SWITCH_US, whole), (SWITCH_US + 1, WINDOW), (10**6, WINDOW), (0, WINDOW)):
            expected = {delay: by_delay, both: min(by_delay, table) if rtt_us else table}
            wrong += [
                f"{rule} at {hops} hops and {rtt_us} us: {found}, not {limit}"
                for rule, limit in expected.items()
                if (found := core.dca_window_limit_packets(rule, hops, rtt_us)) != limit
            ]
    return wrong


def _on_the_air(all_hops: list[int], least_ms: dict[int, float], packets: dict[tuple[int, str], float]) -> list[str]:
    """Below the switch the window by delay is the whole one, above it 5; with Table I beside it the smaller of both."""
    wrong = []
    for hops in all_hops:
        side = _side(least_ms[hops])
        expected = {"below": {BY_DELAY: WHOLE, BY_BOTH: BY_HOP}, "above": {BY_DELAY: FIVE, BY_BOTH: BY_HOP}, "near": {}}
        wrong += [
            f"{hops} hops, {side} the switch: {policy} sends a TCP ACK for {packets[hops, policy]:.2f} packets, {same} "
            f"for {packets[hops, same]:.2f}"
            for policy, same in expected[side].items()
            if abs(packets[hops, policy] / packets[hops, same] - 1) > SAME_WITHIN
        ]
    return wrong


def _side(rtt_ms: float) -> str:
    if abs(rtt_ms - SWITCH_US / 1e3) < NEAR_MS:
        return "near"
    return "below" if rtt_ms < SWITCH_US / 1e3 else "above"


def _last(all_hops: list[int], least_ms: dict[int, float], below: bool) -> int:
    """The longest path that is surely below the switch, or the shortest that is surely above it."""
    side = "below" if below else "above"
    return (max if below else min)((hops for hops in all_hops if _side(least_ms[hops]) == side), default=0)


def _least_ms(results: Results) -> dict[int, float]:
    """Of any interval of any seed with one packet on the path: an interval holds a sample or two."""
    least: dict[int, float] = {}
    for row in results.intervals:
        if row["policy"] == ONE_PACKET and row["t_start_s"] >= SETTLED_S and row["rtt_ms"]:
            least[row["hops"]] = min(least.get(row["hops"], row["rtt_ms"]), row["rtt_ms"])
    return least


def _draw(file: Path, all_hops: list[int], least_ms: dict[int, float], packets: dict[tuple[int, str], float]) -> None:
    with drawing(file, columns=2, height=3.8) as (_, (left, right)):
        left.plot(all_hops, [least_ms[hops] for hops in all_hops], MARKERS[0] + "-", color=COLOURS[0])
        left.axhline(SWITCH_US / 1e3, color="#000000", linewidth=1, linestyle="--")
        left.set_title("Least round trip with one packet; the switch", loc="left")
        left.set(xlabel="hops", ylabel="ms")
        left.set_ylim(bottom=0)
        for index, (policy, label) in enumerate(
            ((BY_HOP, "by hops"), (BY_DELAY, "by delay"), (BY_BOTH, "by the smaller of both"))
        ):
            values = [packets[hops, policy] for hops in all_hops]
            right.plot(all_hops, values, MARKERS[index] + "-", color=COLOURS[index], label=label)
        right.set_yscale("log")
        right.set_yticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
        right.set_title("Packets a TCP ACK stands for", loc="left")
        right.set_xlabel("hops")
        right.legend()
