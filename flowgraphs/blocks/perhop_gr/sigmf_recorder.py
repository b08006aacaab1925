# SPDX-License-Identifier: GPL-2.0-or-later
"""SigMF recorder: samples, and one annotation a frame."""

import threading
from pathlib import Path

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import frames, pdus


class _recording:
    """What both parts of the recorder know; each of them may stop last, so each writes the description."""

    def __init__(self, base: str, about: dict, captures: list[dict]) -> None:
        # Debian has no such package: only who records needs it, and learns it before the first sample.
        try:
            from sigmf import SigMFFile
        except ImportError as error:
            raise ImportError(
                f"SigMF recorder: {error}; `python3 -m pip install --user --break-system-packages sigmf`"
            ) from error
        self.made = SigMFFile
        self.base, self.about, self.captures = base, about, captures
        self.samples = 0
        self.annotations: list[dict] = []
        self.lock = threading.Lock()

    def describe(self) -> None:
        with self.lock:
            kept = [
                each
                for each in self.annotations
                if each["core:sample_start"] + each["core:sample_count"] <= self.samples
            ]
            kept.sort(key=lambda each: each["core:sample_start"])
            described = self.made(global_info=self.about)
            for capture in self.captures:
                described.add_capture(capture["core:sample_start"], capture)
            for each in kept:
                described.add_annotation(each["core:sample_start"], each["core:sample_count"], each)
            if self.samples:
                described.set_data_file(f"{self.base}.sigmf-data")  # for its hash
            described.tofile(f"{self.base}.sigmf-meta")  # which validates it


class _samples(gr.sync_block):
    """Samples into the file."""

    def __init__(self, recording: _recording, most_samples: int) -> None:
        gr.sync_block.__init__(self, "SigMF samples", in_sig=[np.complex64], out_sig=None)
        self.recording, self.most_samples = recording, most_samples
        self.file = Path(f"{recording.base}.sigmf-data").open("wb")  # noqa: SIM115  (closed with the block)

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        kept = samples[: max(self.most_samples - self.recording.samples, 0)]
        if len(kept):
            parts = np.ascontiguousarray(kept).view(np.float32) * np.float32(32768)
            self.file.write(np.clip(np.round(parts), -32768, 32767).astype("<i2").tobytes())
            self.recording.samples += len(kept)
        return len(samples)

    def stop(self) -> bool:
        self.file.flush()
        self.recording.describe()
        return super().stop()


class _annotations(gr.basic_block):
    """PSDUs into annotations. A block of its own: one with a stream hears no message when its samples have ended."""

    def __init__(self, recording: _recording, samp_rate: float) -> None:
        gr.basic_block.__init__(self, "SigMF annotations", in_sig=None, out_sig=None)
        self.recording, self.samp_rate = recording, samp_rate
        self.message_port_register_in(pmt.intern("psdu"))
        self.set_msg_handler(pmt.intern("psdu"), self._take)

    def _take(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None or not found[1] or "end_us" not in found[0]:
            return
        meta, psdu = found
        header = frames.header_of(psdu)
        start = max(round(meta["start_us"] * self.samp_rate / 1e6), 0)
        end = round(meta["end_us"] * self.samp_rate / 1e6)
        comment = f"{header.label()}, SNR {meta['snr_db']:.0f} dB, FCS {'good' if meta['fcs_ok'] else 'bad'}"
        fields = {
            "core:sample_start": start,
            "core:sample_count": end - start,
            "core:label": header.kind,
            "core:comment": comment,
            "perhop:kind": header.kind,
            "perhop:snr_db": meta["snr_db"],
            "perhop:fcs_ok": bool(meta["fcs_ok"]),
            "perhop:receiver": header.receiver,
            "perhop:transmitter": header.transmitter,
        }
        with self.recording.lock:
            self.recording.annotations.append({name: value for name, value in fields.items() if value is not None})

    def stop(self) -> bool:
        self.recording.describe()
        return super().stop()


class sigmf_recorder(gr.hier_block2):
    """Writes <path>.sigmf-data (ci16_le) and, when the flowgraph stops, <path>.sigmf-meta.

    PSDUs on port `psdu` become annotations: its kind as the label (which SigMF limits to 20 characters), addresses, SNR
    and FCS in the comment, and each by itself in `perhop:` fields. Frames that end behind the last sample that was kept
    are left out.
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
        signature = gr.io_signature(1, 1, gr.sizeof_gr_complex)
        gr.hier_block2.__init__(self, "SigMF recorder", signature, gr.io_signature(0, 0, 0))
        about = {
            "core:datatype": "ci16_le",
            "core:sample_rate": samp_rate,
            "core:recorder": "perhop",
            "core:extensions": [{"name": "perhop", "version": "1.0.0", "optional": True}],
        }
        if description:
            about["core:description"] = description
        base = path.removesuffix(".sigmf-meta").removesuffix(".sigmf-data")
        self.recording = _recording(base, about, [{"core:sample_start": 0, "core:frequency": centre_hz}])
        try:
            self._samples = _samples(self.recording, most_samples)
        except OSError as error:
            raise ValueError(f"SigMF recorder: {path} cannot be written: {error.strerror}") from error
        self._annotations = _annotations(self.recording, samp_rate)
        self.message_port_register_hier_in("psdu")
        self.connect(self, self._samples)
        self.msg_connect(self, "psdu", self._annotations, "psdu")
