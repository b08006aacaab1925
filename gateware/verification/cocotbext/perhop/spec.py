# SPDX-License-Identifier: GPL-2.0-or-later
"""What gateware/spec generates for Python: registers by name, timing profiles, frames, records, constants.

The wheel has its own copy of perhop.registers, made when it is built; in a checkout it is the checkout's.
"""

from perhop.registers import (
    MacRegisters,
    RadioRegisters,
    RegisterError,
    entry_address,
    find_field,
    find_register,
    mixed_seed,
)
from perhop.registers.spec_generated import (
    PROFILES,
    REGISTERS,
    RX_STATUS_FIELDS,
    AccessMode,
    EventKind,
    FrameKind,
    TxResult,
    airtime_us,
    decode_completion_record,
)

__all__ = [
    "PROFILES",
    "REGISTERS",
    "RX_STATUS_FIELDS",
    "AccessMode",
    "EventKind",
    "FrameKind",
    "MacRegisters",
    "RadioRegisters",
    "RegisterError",
    "TxResult",
    "airtime_us",
    "decode_completion_record",
    "entry_address",
    "find_field",
    "find_register",
    "mixed_seed",
]
