# SPDX-License-Identifier: GPL-2.0-or-later
"""Bianchi's model of saturation throughput, with the corrections that a slot-exact MAC needs.

Source: G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000.
n saturated stations hear each other; a station attempts in a slot with probability tau, and an attempt collides with
the constant probability
  p = 1 - (1 - tau)^(n - 1)                                                                        (Bianchi, eq. 9)
Throughput is the payload of a slot over the mean time of a slot: empty, success or collision (eq. 13).

How ours differs:
1. Finite retries (H. Wu et al., "Performance of reliable transport protocol over IEEE 802.11 wireless LAN", Infocom
   2002): a packet has L attempts, with windows W_j = min(2^j (CWmin + 1), CWmax + 1), and is dropped after the L-th
   failure.
2. Freezing (I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 distributed coordination function modeling
   approaches", IEEE Trans. Vehicular Technology 59(3), 2010): a counter falls in idle slots only, never in a busy one.
   So time is a row of boundaries, each after one idle slot, at which stations contend with probability tau
     tau = (contended attempts of a packet) / (idle slots of a packet);
   and a station that draws 0 sends again right after its DIFS, where nobody can collide with it, since all the others
   still have a slot to count.
3. EIFS: after a collision the stations that sent wait for their response timeout, the others, which saw a broken frame,
   for EIFS. With the longer EIFS of the DSSS profiles the former count c = floor((EIFS - timeout) / slot) slots
   alone; a draw of at most c sends in that time without contention. With n = 2 nobody else waits, so c = 0 and a
   collision costs the timeout instead of EIFS.
4. Post-backoff: every packet, also one after a success, starts with a backoff (9.3.4.3). A saturated station therefore
   never has immediate access, which is what Bianchi assumes.
5. Frames take `propagation_us` to arrive, and responses as long to come back.
"""

from __future__ import annotations

from dataclasses import dataclass

from perhop.registers import spec_generated as spec


@dataclass(frozen=True)
class Setting:
    """What the model needs to know of a network. `ip_bytes` is the payload that counts as throughput."""

    profile: str
    data_rate_index: int
    stations: int
    ip_bytes: int
    rts: bool
    attempts: int  # L: of the frame that collides, RTS or DATA
    path_header: bool = False
    propagation_us: int = 1


@dataclass(frozen=True)
class Prediction:
    """tau: contended attempts for each idle slot. collision: probability that a contended attempt fails."""

    throughput_bps: float
    tau: float
    collision: float


def predict(setting: Setting) -> Prediction:
    """Solve the model. The fixed point is unique: more attempts make more collisions, which make fewer attempts."""
    head_start = _head_start_slots(setting)
    low, high = 0.0, 1.0
    for _ in range(200):
        collision = (low + high) / 2
        tau = _tau(setting, collision, head_start)
        if 1 - (1 - tau) ** (setting.stations - 1) > collision:
            low = collision
        else:
            high = collision
    return _throughput(setting, collision, _tau(setting, collision, head_start), head_start)


def _windows(setting: Setting) -> list[int]:
    """W_j: values that the backoff of attempt j can take."""
    profile = spec.PROFILES[setting.profile]
    return [min((profile.cw_min + 1) << j, profile.cw_max + 1) for j in range(setting.attempts)]


def _head_start_slots(setting: Setting) -> int:
    """c of correction 3."""
    if setting.stations <= 2:
        return 0
    profile = spec.PROFILES[setting.profile]
    return max(0, (profile.eifs_us + setting.propagation_us - profile.response_timeout_us) // profile.slot_us)


@dataclass(frozen=True)
class _Packet:
    """Expected counts of one packet of one station."""

    contended: float  # attempts in competition with the others
    after_success: float  # attempts without competition, right after the station's own success
    after_collision: float  # attempts without competition, ahead of the others after a collision
    idle_slots: float  # slots counted down while the others count too


def _packet(setting: Setting, collision: float, head_start: int) -> _Packet:
    reach = 1.0  # probability that the packet needs attempt j
    contended = after_success = after_collision = idle_slots = 0.0
    for j, window in enumerate(_windows(setting)):
        alone = min(window, 1 if j == 0 else head_start + 1)  # draws that send without competition
        competing = window - alone
        if j == 0:
            after_success += reach * alone / window
        else:
            after_collision += reach * alone / window
        contended += reach * competing / window
        # Draws alone..window-1 leave 1..competing slots to count.
        idle_slots += reach * competing * (competing + 1) / 2 / window
        reach *= collision * competing / window
    return _Packet(contended, after_success, after_collision, idle_slots)


def _tau(setting: Setting, collision: float, head_start: int) -> float:
    packet = _packet(setting, collision, head_start)
    return packet.contended / packet.idle_slots


def _throughput(setting: Setting, collision: float, tau: float, head_start: int) -> Prediction:
    profile = spec.PROFILES[setting.profile]
    n = setting.stations
    packet = _packet(setting, collision, head_start)
    success_us, failure_us = busy_times_us(setting)

    # For each boundary between idle slots:
    idle = (1 - tau) ** n
    success = n * tau * (1 - tau) ** (n - 1)
    failure = 1 - idle - success
    alone_success = n * tau * packet.after_success / packet.contended
    alone_failure = n * tau * packet.after_collision / packet.contended
    # An attempt ahead of the others cuts their EIFS short: it begins, on average, c / 2 slots after the timeout.
    cut_us = 0.0
    if head_start:
        cut_us = (
            profile.eifs_us + setting.propagation_us - profile.response_timeout_us - head_start / 2 * profile.slot_us
        )
    time_us = (
        profile.slot_us
        + (success + alone_success + alone_failure) * success_us
        + failure * failure_us
        - alone_failure * cut_us
    )
    packets = success + alone_success + alone_failure
    return Prediction(packets * setting.ip_bytes * 8 / time_us * 1e6, tau, collision)


def busy_times_us(setting: Setting) -> tuple[float, float]:
    """How long a success and a collision keep the medium from counting, with the inter-frame space that follows."""
    profile = spec.PROFILES[setting.profile]
    control = profile.control_rate_index
    header_bytes = spec.MAC_HEADER_BYTES + spec.LLC_SNAP_BYTES + spec.FCS_BYTES
    mpdu_bytes = header_bytes + setting.ip_bytes + (spec.PATH_HEADER_BYTES if setting.path_header else 0)
    data_us = spec.airtime_us(profile, setting.data_rate_index, mpdu_bytes)
    rts_us = spec.airtime_us(profile, control, spec.RTS_BYTES)
    cts_us = spec.airtime_us(profile, control, spec.CTS_BYTES)
    mac_ack_us = spec.airtime_us(profile, control, spec.MAC_ACK_BYTES)
    delay_us = setting.propagation_us

    success_us = data_us + profile.sifs_us + mac_ack_us + profile.difs_us + 2 * delay_us
    if setting.rts:
        success_us += rts_us + cts_us + 2 * (profile.sifs_us + delay_us)
    first_us = rts_us if setting.rts else data_us
    wait_us = profile.response_timeout_us if setting.stations <= 2 else profile.eifs_us + delay_us
    return success_us, first_us + wait_us
