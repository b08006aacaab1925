# SPDX-License-Identifier: GPL-2.0-or-later
"""SigMF recorder: samples, and one annotation a frame."""

import json
from pathlib import Path

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import frames, pdus

VERSION = "1.2.0"


class sigmf_recorder(gr.sync_block):
    """Writes <path>.sigmf-data (ci16_le) and, when the flowgraph stops, <path>.sigmf-meta.

    PSDUs on port `psdu` become annotations: its kind as the label (which SigMF limits to 20 characters), addresses,
    SNR and FCS in the comment, and each by itself in `perhop:` fields. Frames that end behind the last sample that
    was kept are left out.
    """

    def __init__(
        self,
        path: str = "recording",
        samp_rate: float = 22e6,
        centre_hz: float = 2.412e9,
        most_samples: int = 22_000_000,
        description: str = "",
    ) -> None:
        """most_samples: what is kept; 4 octets each."""
        gr.sync_block.__init__(self, "SigMF recorder", in_sig=[np.complex64], out_sig=None)
        self.samp_rate, self.centre_hz, self.most_samples = samp_rate, centre_hz, most_samples
        self.description = description
        self.samples = 0
        self.annotations: list[dict] = []
        self._base = path.removesuffix(".sigmf-meta").removesuffix(".sigmf-data")
        try:
            self._file = Path(f"{self._base}.sigmf-data").open("wb")  # noqa: SIM115  (closed with the block)
        except OSError as error:
            raise ValueError(f"SigMF recorder: {path} cannot be written: {error.strerror}") from error
        self.message_port_register_in(pmt.intern("psdu"))
        self.set_msg_handler(pmt.intern("psdu"), self._take)

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        kept = samples[: max(self.most_samples - self.samples, 0)]
        if len(kept) and not self._file.closed:
            parts = np.ascontiguousarray(kept).view(np.float32) * np.float32(32768)
            self._file.write(np.clip(np.round(parts), -32768, 32767).astype("<i2").tobytes())
            self.samples += len(kept)
        return len(samples)

    def _take(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None or not found[1] or "end_us" not in found[0]:
            return
        meta, psdu = found
        header = frames.header_of(psdu)
        start = max(round(meta["start_us"] * self.samp_rate / 1e6), 0)
        end = round(meta["end_us"] * self.samp_rate / 1e6)
        fields = {
            "core:sample_start": start,
            "core:sample_count": end - start,
            "core:label": header.kind,
            "core:comment": f"{header.label()}, SNR {meta['snr_db']:.0f} dB, FCS {'good' if meta['fcs_ok'] else 'bad'}",
            "perhop:kind": header.kind,
            "perhop:snr_db": meta["snr_db"],
            "perhop:fcs_ok": bool(meta["fcs_ok"]),
            "perhop:receiver": header.receiver,
            "perhop:transmitter": header.transmitter,
        }
        self.annotations.append({name: value for name, value in fields.items() if value is not None})

    def stop(self) -> bool:
        self._file.flush()
        annotations = [
            each for each in self.annotations if each["core:sample_start"] + each["core:sample_count"] <= self.samples
        ]
        about = {
            "core:datatype": "ci16_le",
            "core:sample_rate": self.samp_rate,
            "core:version": VERSION,
            "core:recorder": "perhop",
            "core:extensions": [{"name": "perhop", "version": "1.0.0", "optional": True}],
        }
        if self.description:
            about["core:description"] = self.description
        annotations.sort(key=lambda each: each["core:sample_start"])
        captures = [{"core:sample_start": 0, "core:frequency": self.centre_hz}]
        whole = {"global": about, "captures": captures, "annotations": annotations}
        Path(f"{self._base}.sigmf-meta").write_text(json.dumps(whole, indent=1) + "\n")
        return super().stop()
