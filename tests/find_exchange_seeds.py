# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds seeds whose runs together meet every reachable bin of cocotbext/perhop/exchange_bins.py, and writes them down.

To be run when the model or the surroundings have changed and `make test-gateware` misses bins. Needs no simulator: the
bins are those of the reference model. Of the seeds tried, few are kept: each adds a bin.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from cocotbext.perhop.exchange_bins import EVERY_BIN, missed
from cocotbext.perhop.steered_air import GOALS, Run, read_runs, rehearsal

SEEDS = Path(__file__).resolve().parent / "gateware" / "mac_core" / "exchange_seeds.json"
CHUNK = 500
# Of which bins a station with one or two queues has to meet all.
GROUPS_OF = {1: ("steps", "races"), 2: ("queues",)}


def bins_of(queues: int, run: Run) -> Counter[str]:
    """What one run meets of what there is to meet."""
    station, _ = rehearsal(queues, run)
    return Counter({name: 1 for name in (*station.bins, *station.seen) if name in EVERY_BIN})


def chosen(runs: dict[Run, Counter[str]]) -> list[Run]:
    """Seeds that together meet what all of them meet: those of the rarest bins first."""
    rarity: Counter[str] = Counter()
    for bins in runs.values():
        rarity.update(bins.keys())
    kept: list[Run] = []
    met: set[str] = set()
    for name, _ in reversed(rarity.most_common()):
        if name not in met:
            best = max(
                (seed for seed, bins in runs.items() if name in bins), key=lambda seed: len(runs[seed].keys() - met)
            )
            kept.append(best)
            met |= runs[best].keys()
    return sorted(kept, key=lambda run: (isinstance(run, tuple), run))


def main() -> int:
    """Returns 0 when nothing that a seed can meet is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--most", type=int, default=20000, help="seeds to try, and to try for each bin that is aimed at"
    )
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    known = read_runs(SEEDS) if SEEDS.is_file() else {}
    kept: dict[str, list[Run]] = {}
    left: list[str] = []
    surprises: dict[str, Run] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for queues, groups in GROUPS_OF.items():
            runs: dict[Run, Counter[str]] = {}
            hits: Counter[str] = Counter()

            def tries(some: Iterable[Run], queues: int = queues, runs: dict = runs, hits: Counter = hits) -> None:
                new = [run for run in some if run not in runs]
                for run, bins in zip(new, pool.map(partial(bins_of, queues), new, chunksize=10), strict=True):
                    runs[run] = bins
                    hits.update(bins)

            tries(known.get(str(queues), []))
            for first in range(arguments.first, arguments.first + arguments.most, CHUNK):
                if not missed(hits, groups):
                    break
                print(f"{queues} queues, {len(runs)} runs: {len(missed(hits, groups))} bins missed", flush=True)
                tries(range(first, first + CHUNK))
                SEEDS.write_text(json.dumps(known | kept | {str(queues): chosen(runs)}) + "\n")
            # What chance does not meet is aimed at.
            for name in missed(hits, groups):
                step, _, rest = name.partition(" / ")
                interruption = rest.partition(" / ")[0]
                for first in range(0, arguments.most, CHUNK) if interruption in GOALS else ():
                    if hits[name]:
                        break
                    print(f"{name}: {first} runs aimed at it", flush=True)
                    tries((seed, step, interruption) for seed in range(first, first + CHUNK))
                    SEEDS.write_text(json.dumps(known | kept | {str(queues): chosen(runs)}) + "\n")
            left += missed(hits, groups)
            surprises |= {name: run for run, bins in runs.items() for name in bins if EVERY_BIN[name] is not None}
            kept[str(queues)] = chosen(runs)
    for name, run in surprises.items():
        print(f"said to be unreachable, and reached by {run}: {name}")
    for name in left:
        print(f"missed: {name}")
    SEEDS.write_text(json.dumps(kept) + "\n")
    print(f"{sum(map(len, kept.values()))} seeds kept in {SEEDS.name}")
    return 1 if left or surprises else 0


if __name__ == "__main__":
    sys.exit(main())
