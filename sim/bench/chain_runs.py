# SPDX-License-Identifier: GPL-2.0-or-later
"""The run that benches and tests of cost make: one TCP flow over a chain."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "out/build"
BENCH_BUILD = ROOT / "out/build-bench"  # without assertions


def run_json(hops: int, window: int, seconds: float, seed: int, directory: Path) -> dict:
    return {
        "schema": 1,
        "label": f"bench h={hops}",
        "seed": seed,
        "duration_s": seconds,
        "warmup_s": 0.0,
        "mac": {
            "profile": "dsss_long",
            "compat": "ns2",
            "data_rate_index": 1,
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_packets": 50,
            "average_shift": 4,
        },
        "medium": {
            "reception": "ns2",
            "loss": "two_ray",
            "tx_range_m": 250,
            "cs_range_m": 550,
            "capture_ratio_db": 10,
            "propagation_us": "auto",
            "frame_error_rate": 0.0,
        },
        "warp": "on",
        "nodes": [{"x_m": 250.0 * i, "y_m": 0.0} for i in range(hops + 1)],
        "routes": [[i, j, i + 1 if j > i else i - 1] for i in range(hops + 1) for j in range(hops + 1) if i != j],
        "flows": [
            {
                "kind": "tcp",
                "src": 0,
                "dst": hops,
                "variant": "newreno",
                "sack": False,
                "segment_bytes": 1460,
                "start_s": 0.1,
                "stop_s": None,
                "tcp_ack_every": 1,
                "max_window_packets": window,
                "policy": {"cwl": "none"},
            }
        ],
        "outputs": {
            "directory": str(directory),
            "pcapng": False,
            "trace": False,
            "completions": False,
            "interval_s": 10.0,
        },
    }
