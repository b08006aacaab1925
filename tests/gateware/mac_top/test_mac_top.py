# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_top: two of them, joined by PHYs, driven by their registers and streams alone."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.perhop.mac_host import ADDRESS, MacHost
from perhop.registers import RegisterError
from perhop.registers.spec_generated import PROFILES, EventKind, FrameKind, TxResult, airtime_us
from testbench.build import cocotb_tests, simulate

SEED = 1
CLOCKS_PER_US = 64
TX_DELAY_CLOCKS, RX_DELAY_CLOCKS = DELAYS_CLOCKS = 90, 310


async def pair(dut, profile: str) -> tuple[MacHost, MacHost]:
    """Two MACs after reset, enabled under a profile."""
    Clock(dut.clk, 10, "ns").start()
    dut.tx_delay_clocks.value = TX_DELAY_CLOCKS
    dut.rx_delay_clocks.value = RX_DELAY_CLOCKS
    dut.preamble_us.value = PROFILES[profile].preamble_us
    dut.damage.value = 0
    dut.rst.value = 1
    a, b = MacHost(dut, "a"), MacHost(dut, "b")
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    await a.set_up(profile, 1, DELAYS_CLOCKS)
    await b.set_up(profile, 2, DELAYS_CLOCKS)
    return a, b


def sifs_clocks(profile: str) -> int:
    return PROFILES[profile].sifs_us * CLOCKS_PER_US - TX_DELAY_CLOCKS - RX_DELAY_CLOCKS


@cocotb.test()
async def a_packet_crosses_behind_an_rts_and_everybody_tells_of_it(dut):
    """RTS, CTS, DATA, MAC ACK: record, status, counters, interrupt and event log agree, to the microsecond."""
    profile, rate, msdu = "ofdm_20mhz", 2, random.Random(SEED).randbytes(300)
    timing = PROFILES[profile]
    a, b = await pair(dut, profile)
    kinds = (EventKind.TX_START, EventKind.RX_GOOD, EventKind.RESPONSE, EventKind.PACKET_TAKEN_0, EventKind.PACKET_DONE)
    await a.host(lambda mac: (mac.log_events(*kinds), mac.write("interrupt_enable", completion=1)))
    assert a.irq == 0
    await a.give(msdu, ADDRESS["b"], rate, tag=77, force_rts=True)
    record = await a.completion()

    data_us = airtime_us(timing, rate, len(msdu) + 28)
    rts_us = airtime_us(timing, timing.control_rate_index, 20)
    cts_us, mac_ack_us = (airtime_us(timing, timing.rates[each].control_rate_index, 14) for each in (0, rate))
    assert (record["tag"], record["result"], record["bytes"], record["rate"]) == (77, TxResult.DELIVERED, 328, rate)
    assert (record["rts_attempts"], record["data_attempts"]) == (1, 1)
    assert (record["control_us"], record["data_us"]) == (rts_us, data_us)
    # On the air SIFS are exact; what the MAC hears is late by what the PHYs delay, which is not theirs to count.
    whole_us = rts_us + cts_us + data_us + mac_ack_us + 3 * timing.sifs_us
    late_us = (TX_DELAY_CLOCKS + RX_DELAY_CLOCKS) // CLOCKS_PER_US + 2
    assert whole_us <= record["t_done_us"] - record["t_first_tx_us"] <= whole_us + late_us
    assert await b.reception() == msdu

    # Each response left SIFS less the delays after what it answers: CTS and MAC ACK of b, DATA of a.
    assert [int(each.value) for each in dut.response_clocks] == [sifs_clocks(profile)] * 2

    sent = await a.host(lambda mac: mac.read_statistics())
    answered = await b.host(lambda mac: mac.read_statistics())
    assert (sent["rts_sent"], sent["data_sent"], sent["delivered"], sent["rx_ok"]) == (1, 1, 1, 2)
    assert (answered["cts_sent"], answered["mac_ack_sent"], answered["rx_ok"], answered["rx_delivered"]) == (1, 1, 2, 1)
    assert not any(count for name, count in (sent | answered).items() if "bad" in name or "overflow" in name)

    log = await a.host(lambda mac: mac.read_events())
    assert [event.kind for event in log.events] == [
        *(EventKind.PACKET_TAKEN_0, EventKind.TX_START, EventKind.RX_GOOD, EventKind.RESPONSE),
        *(EventKind.TX_START, EventKind.RX_GOOD, EventKind.RESPONSE, EventKind.PACKET_DONE),
    ]
    starts = [event for event in log.events if event.kind == EventKind.TX_START]
    assert [event.argument for event in starts] == [FrameKind.RTS, FrameKind.DATA]
    assert starts[0].tsf_us == record["t_first_tx_us"] + 0
    assert log.overruns == 0


@cocotb.test()
async def the_interrupt_stands_until_the_completion_record_is_taken(dut):
    a, _ = await pair(dut, "ofdm_20mhz")
    a.done.pause = True
    await a.host(lambda mac: mac.write("interrupt_enable", completion=1))
    await a.give(b"packet", ADDRESS["b"], 4, tag=1)
    for _ in range(100):
        await ClockCycles(dut.clk, 1000)
        if a.irq:
            break
    assert a.irq == 1
    await a.host(lambda mac: mac.write("interrupt_status", completion=1))
    assert a.irq == 1, "cleared while the record waits"
    a.done.pause = False
    assert (await a.completion())["tag"] == 1
    await a.host(lambda mac: mac.write("interrupt_status", completion=1))
    assert a.irq == 0


@cocotb.test()
async def a_damaged_frame_is_sent_again_and_counted(dut):
    """While b hears nothing right, a retries up to its limit; the next packet goes through at once."""
    a, b = await pair(dut, "ofdm_20mhz")
    await a.set_up("ofdm_20mhz", 1, DELAYS_CLOCKS, retry_limits={"short_retry_limit": 3})
    dut.damage.value = 1
    await a.give(bytes(40), ADDRESS["b"], 0, tag=1)
    record = await a.completion()
    assert (record["result"], record["data_attempts"]) == (TxResult.SHORT_RETRY_LIMIT, 3)
    dut.damage.value = 0
    await a.give(b"whole", ADDRESS["b"], 0, tag=2)
    assert (await a.completion())["result"] == TxResult.DELIVERED
    assert await b.reception() == b"whole"
    sent = await a.host(lambda mac: mac.read_statistics())
    heard = await b.host(lambda mac: mac.read_statistics())
    assert (sent["data_sent"], sent["timeouts"], sent["short_retry_limit"]) == (4, 3, 1)
    assert sent["data_retries_sent"] == 2
    assert (heard["rx_bad_fcs"], heard["mac_ack_sent"]) == (3, 1)


@cocotb.test()
async def a_packet_may_use_the_rates_that_the_registers_hold_for_its_peer(dut):
    """Two DATA frames at the first rate of peer 3, then its second; a descriptor that does not ask keeps its own."""
    a, _ = await pair(dut, "ofdm_20mhz")
    await a.set_up("ofdm_20mhz", 1, DELAYS_CLOCKS, retry_limits={"short_retry_limit": 3})
    await a.host(lambda mac: mac.set_rate_series(3, (5, 2), (1, 0)))
    dut.damage.value = 1
    for peer_series, rate in ((1, 1), (0, 6)):
        await a.give(bytes(30), ADDRESS["b"], 6, tag=rate, peer=3, peer_series=peer_series)
        record = await a.completion()
        assert (record["result"], record["data_attempts"], record["rate"]) == (TxResult.SHORT_RETRY_LIMIT, 3, rate)


@cocotb.test()
async def the_queues_keep_their_packets_and_records_apart(dut):
    a, b = await pair(dut, "ofdm_20mhz")
    for tag in range(4):
        await a.give(bytes([tag]), ADDRESS["b"], 7, tag=tag, queue=tag % 2)
    done = [await a.completion() for _ in range(4)]
    assert {record["tag"]: record["queue"] for record in done} == {0: 0, 1: 1, 2: 0, 3: 1}
    assert [record["tag"] for record in done if record["queue"] == 0] == [0, 2]
    assert {await b.reception() for _ in range(4)} == {bytes([tag]) for tag in range(4)}


@cocotb.test()
async def the_mac_stops_when_disabled_and_begins_anew_with_another_profile(dut):
    """Disabled in the middle of a packet it is silent; settings change only then; both go on under the new profile."""
    a, b = await pair(dut, "ofdm_20mhz")
    await a.give(bytes(1000), ADDRESS["b"], 0, tag=1, force_rts=True)
    await ClockCycles(dut.clk, 300 * CLOCKS_PER_US)  # DATA is on its way

    def settle(mac):
        with pytest.raises(RegisterError, match="while the MAC does not run"):
            mac.write("slot", value_us=50)
        assert mac.read("slot")["value_us"] == PROFILES["ofdm_20mhz"].slot_us
        mac.disable()

    await a.host(settle)
    silent = int(dut.response_clocks[0].value)
    await ClockCycles(dut.clk, 2000 * CLOCKS_PER_US)
    assert int(dut.response_clocks[0].value) == silent, "a disabled MAC sent something"
    assert a.done.empty()
    assert await b.reception() == bytes(1000)  # the PHY had it whole

    new = "ofdm_10mhz"
    dut.preamble_us.value = PROFILES[new].preamble_us
    await b.set_up(new, 4, DELAYS_CLOCKS)
    await a.set_up(new, 3, DELAYS_CLOCKS)
    await a.give(b"under the new profile", ADDRESS["b"], 3, tag=2, force_rts=True)
    record = await a.completion()
    assert (record["tag"], record["result"]) == (2, TxResult.DELIVERED)
    assert record["data_us"] == airtime_us(PROFILES[new], 3, len(b"under the new profile") + 28)
    assert await b.reception() == b"under the new profile"
    assert [int(each.value) for each in dut.response_clocks] == [sifs_clocks(new)] * 2


@cocotb.test()
async def both_send_at_once_and_all_packets_arrive_once(dut):
    """Five packets each way, contending: DCF sorts them out, and the sink of each host has every packet once."""
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    a, b = await pair(dut, "ofdm_20mhz")
    packets = {mac: [bytes([index]) + source.randbytes(source.randrange(60)) for index in range(5)] for mac in (a, b)}

    async def send_all(mac, to):
        for index, msdu in enumerate(packets[mac]):
            await mac.give(msdu, ADDRESS[to.name], source.randrange(8), tag=index, force_rts=source.random() < 0.3)

    async def records(mac):
        return [await mac.completion() for _ in packets[mac]]

    tasks = [cocotb.start_soon(each) for each in (send_all(a, b), send_all(b, a), records(a), records(b))]
    for task in tasks[:2]:
        await with_timeout(task, 100, "ms")
    for mac, task in zip((a, b), tasks[2:], strict=True):
        done = await with_timeout(task, 100, "ms")
        assert [record["tag"] for record in done] == list(range(5)), mac.name
        assert {record["result"] for record in done} == {TxResult.DELIVERED}
    for sender, receiver in ((a, b), (b, a)):
        assert [await receiver.reception() for _ in packets[sender]] == packets[sender]
        assert receiver.received.empty()


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_mac_top(name):
    simulate("mac_top_pair_bench", __file__, name, cocotb_tests(globals()))
