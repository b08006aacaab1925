# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a device by UHD's Python and connects streams to ports of its radio block; a JSON object a step.

graph_client.py ARGS rx=01 tx=0: the digits are ports. It waits for a line of input after the commit, and after the
commit without these streams. Run it with .venv-bench/bin/python.
"""

import json
import sys

import uhd

RADIO = "0/Radio#0"


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main(args: str, rx: str, tx: str) -> None:
    graph = uhd.rfnoc.RfnocGraph(args)
    tell(
        step="open",
        blocks={str(each): graph.get_block(each).get_noc_id() for each in graph.find_blocks("")},
        edges=[each.to_string() for each in graph.enumerate_static_connections()],
        rx_antenna=uhd.rfnoc.RadioControl(graph.get_block(RADIO)).get_rx_antenna(0),
    )
    samples = uhd.usrp.StreamArgs("sc16", "sc16")
    streams = []
    for port in rx.removeprefix("rx="):
        streams.append(graph.create_rx_streamer(1, samples))
        graph.connect(RADIO, int(port), streams[-1], 0)
    for port in tx.removeprefix("tx="):
        streams.append(graph.create_tx_streamer(1, samples))
        graph.connect(streams[-1], 0, RADIO, int(port))
    graph.commit()
    tell(step="committed")
    sys.stdin.readline()
    streams.clear()
    graph.commit()
    tell(step="released")
    sys.stdin.readline()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RuntimeError as problem:
        tell(step="error", error=str(problem))
        sys.exit(1)
