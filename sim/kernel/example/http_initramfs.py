# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes out/kernel/http.cpio.gz: Debian's busybox-static, unmodified, and what its HTTP server serves.

An initramfs of a user's is a cpio archive like this one. Nothing is installed: the package is downloaded and unpacked.
"""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from perhop.kernel import image

FOLDER_MODE, PROGRAM_MODE, FILE_MODE, LINK_MODE, DEVICE_MODE = 0o040755, 0o100755, 0o100644, 0o120777, 0o020666
APPLETS = ("sh", "httpd", "wget")
SERVED = {"page.html": 4_000, "picture-1": 20_000, "picture-2": 30_000}  # bytes
SEED = 1


@dataclass(frozen=True)
class Entry:
    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def archive(entries: list[Entry]) -> bytes:
    """In the format that Linux reads (cpio's newc)."""
    made = bytearray()

    def pad() -> None:
        made.extend(b"\0" * (-len(made) % 4))

    for inode, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], 1):
        size, name = len(entry.content), entry.name.encode() + b"\0"
        fields = (inode, entry.mode, 0, 0, 1, 0, size, 0, 0, *entry.device, len(name), 0)
        made.extend(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        pad()
        made.extend(entry.content)
        pad()
    return bytes(made)


def busybox() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", "busybox-static"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run(["dpkg", "-x", str(next(folder.glob("*.deb"))), str(folder / "unpacked")], check=True)
        return next((folder / "unpacked").rglob("bin/busybox")).read_bytes()


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    draw = random.Random(SEED)
    entries = [Entry(name, FOLDER_MODE) for name in ("bin", "www", "dev")]
    entries += [Entry("dev/null", DEVICE_MODE, device=(1, 3)), Entry("bin/busybox", PROGRAM_MODE, busybox())]
    entries += [Entry(f"bin/{name}", LINK_MODE, b"busybox") for name in APPLETS]
    entries += [Entry(f"www/{name}", FILE_MODE, draw.randbytes(size)) for name, size in SERVED.items()]
    file = image.folder() / "http.cpio.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    # The same bytes each time: a run's identity has the archive's hash.
    file.write_bytes(gzip.compress(archive(entries), mtime=0))
    print(f"{file}: {file.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
