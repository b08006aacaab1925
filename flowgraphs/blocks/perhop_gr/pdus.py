# SPDX-License-Identifier: GPL-2.0-or-later
"""PDUs as Python sees them: a dictionary of plain values, and octets or samples."""

from typing import Any

import numpy as np
import pmt


def pdu(meta: dict[str, Any], octets: bytes = b"") -> Any:
    """A PDU of octets."""
    return pmt.cons(pmt.to_pmt(meta), pmt.init_u8vector(len(octets), list(octets)))


def samples_pdu(meta: dict[str, Any], samples: np.ndarray) -> Any:
    """A PDU of complex samples."""
    return pmt.cons(pmt.to_pmt(meta), pmt.init_c32vector(len(samples), samples))


def parts(message: Any) -> tuple[dict[str, Any], Any] | None:
    """(dictionary, vector) of a message; None where it is no PDU. A PDU without dictionary has an empty one."""
    if not pmt.is_pair(message):
        return None
    meta, vector = pmt.car(message), pmt.cdr(message)
    if not (pmt.is_null(meta) or pmt.is_dict(meta)) or not pmt.is_uniform_vector(vector):
        return None
    known = {} if pmt.is_null(meta) else pmt.to_python(meta)
    return (known if isinstance(known, dict) else {}), vector


def octets_of(message: Any) -> tuple[dict[str, Any], bytes] | None:
    """(dictionary, octets) of a message; None where it is no PDU of octets."""
    found = parts(message)
    if found is None or not pmt.is_u8vector(found[1]):
        return None
    return found[0], bytes(pmt.u8vector_elements(found[1]))


def samples_of(message: Any) -> tuple[dict[str, Any], np.ndarray] | None:
    """(dictionary, complex64 samples) of a message; None where it is no PDU of them."""
    found = parts(message)
    if found is None or not pmt.is_c32vector(found[1]):
        return None
    return found[0], np.array(pmt.to_python(found[1]), dtype=np.complex64)
