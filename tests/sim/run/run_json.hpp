// SPDX-License-Identifier: GPL-2.0-or-later
/// A small valid run.json for tests to change.
#pragma once

#include <nlohmann/json.hpp>

namespace perhop::run {

/// Two nodes 250 m apart, 802.11b at 2 Mb/s, a saturated flow of 1500-byte packets.
inline nlohmann::json two_node_run() {
  return nlohmann::json::parse(R"({
    "schema": 1, "label": "test", "seed": 1, "duration_s": 0.5, "warmup_s": 0.0,
    "mac": {"profile": "dsss_long", "compat": "standard", "data_rate_index": 1, "rts_threshold_bytes": 0,
            "short_retry_limit": 7, "long_retry_limit": 4, "queue_packets": 50, "average_shift": 4},
    "medium": {"reception": "ns2", "loss": "range", "tx_range_m": 250, "cs_range_m": 550, "capture_ratio_db": 10,
               "propagation_us": "auto", "frame_error_rate": 0.0},
    "warp": "on",
    "nodes": [{"x_m": 0, "y_m": 0}, {"x_m": 250, "y_m": 0}],
    "routes": [],
    "flows": [{"kind": "mac_saturated", "src": 0, "dst": 1, "ip_bytes": 1500, "path_header": true}],
    "outputs": {"directory": "out", "pcapng": false, "trace": false, "completions": false, "interval_s": 1.0}
  })");
}

}  // namespace perhop::run
