# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds seeds whose runs together meet every reachable bin of testbench/exchange_bins.py, and writes them down.

To be run when the model or the surroundings have changed and `make test-gateware` misses bins. Needs no simulator: the
bins are those of the reference model. Of the seeds tried, few are kept: each adds a bin.
"""

import argparse
import json
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from testbench.exchange_bins import EVERY_BIN, ObservedStation, missed
from testbench.steered_air import RUN_US, SteeredAir, rehearse, steered_queue_settings, steered_settings

SEEDS = Path(__file__).resolve().parent / "gateware" / "mac_core" / "exchange_seeds.json"
CHUNK = 50
SETTINGS_OF = {1: steered_settings, 2: steered_queue_settings}
# Of which bins a station with one or two queues has to meet all.
GROUPS_OF = {1: ("steps", "races"), 2: ("queues",)}


def bins_of(queues: int, seed: int) -> Counter[str]:
    """What one seed's run meets of what there is to meet."""
    source = random.Random(seed)
    settings = SETTINGS_OF[queues](source)
    station = ObservedStation(settings, queues)
    rehearse(station, SteeredAir(settings, source, RUN_US, queues=queues), RUN_US)
    return Counter({name: 1 for name in (*station.bins, *station.seen) if name in EVERY_BIN})


def chosen(runs: dict[int, Counter[str]]) -> list[int]:
    """Seeds that together meet what all of them meet: those of the rarest bins first."""
    rarity: Counter[str] = Counter()
    for bins in runs.values():
        rarity.update(bins.keys())
    kept: list[int] = []
    met: set[str] = set()
    for name, _ in reversed(rarity.most_common()):
        if name not in met:
            best = max(
                (seed for seed, bins in runs.items() if name in bins), key=lambda seed: len(runs[seed].keys() - met)
            )
            kept.append(best)
            met |= runs[best].keys()
    return sorted(kept)


def main() -> int:
    """Returns 0 when nothing that a seed can meet is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=20000, help="seeds to try")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    known = json.loads(SEEDS.read_text()) if SEEDS.is_file() else {}
    kept: dict[str, list[int]] = {}
    left: list[str] = []
    surprises: dict[str, int] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for queues, groups in GROUPS_OF.items():
            old = known.get(str(queues), [])
            new = range(arguments.first, arguments.first + arguments.most)
            tried = [*old, *(seed for seed in new if seed not in set(old))]
            runs: dict[int, Counter[str]] = {}
            hits: Counter[str] = Counter()
            for number in range(0, len(tried), CHUNK):
                part = tried[number : number + CHUNK]
                for seed, bins in zip(part, pool.map(partial(bins_of, queues), part), strict=True):
                    runs[seed] = bins
                    hits += bins
                if number >= len(old) - CHUNK and not missed(hits, groups):
                    break
                if number % (10 * CHUNK) == 0:
                    SEEDS.write_text(json.dumps(known | kept | {str(queues): chosen(runs)}) + "\n")
                    print(f"{queues} queues, {len(runs)} seeds: {len(missed(hits, groups))} bins missed", flush=True)
            left += missed(hits, groups)
            surprises |= {name: seed for seed, bins in runs.items() for name in bins if EVERY_BIN[name] is not None}
            kept[str(queues)] = chosen(runs)
    for name, seed in surprises.items():
        print(f"said to be unreachable, and reached by seed {seed}: {name}")
    for name in left:
        print(f"missed: {name}")
    SEEDS.write_text(json.dumps(kept) + "\n")
    print(f"{sum(map(len, kept.values()))} seeds kept in {SEEDS.name}")
    return 1 if left or surprises else 0


if __name__ == "__main__":
    sys.exit(main())
