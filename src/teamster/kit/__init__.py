"""What the standard library should have had: clock, names, atomic files, locks, safe paths, safe text.

May touch the clock and files. Must not contain one word of the domain.
"""

from teamster.kit.clock import Clock, Instant, ManualClock, SystemClock, from_iso, iso
from teamster.kit.exact import (
    INTEGER_MAX,
    JSON_LIMITS,
    ROOT_PATH,
    Fault,
    JsonLimits,
    below,
    exact_faults,
    parse_exactly,
)
from teamster.kit.files import NameTaken, append, freeze, make_folder, write_once, write_snapshot
from teamster.kit.flushing import FLUSH_PROGRAM, flush, flush_request
from teamster.kit.json import canonical, digest, document, sha256
from teamster.kit.locks import FileLock, is_locked
from teamster.kit.mounts import file_system_of, type_of_device
from teamster.kit.names import CountedNames, Names, RandomNames
from teamster.kit.paths import OutsideRoot, open_beneath, open_folder_at_once, read_beneath
from teamster.kit.text import one_line, printable, redact

__all__ = [
    "FLUSH_PROGRAM",
    "INTEGER_MAX",
    "JSON_LIMITS",
    "ROOT_PATH",
    "Clock",
    "CountedNames",
    "Fault",
    "FileLock",
    "Instant",
    "JsonLimits",
    "ManualClock",
    "NameTaken",
    "Names",
    "OutsideRoot",
    "RandomNames",
    "SystemClock",
    "append",
    "below",
    "canonical",
    "digest",
    "document",
    "exact_faults",
    "file_system_of",
    "flush",
    "flush_request",
    "freeze",
    "from_iso",
    "is_locked",
    "iso",
    "make_folder",
    "one_line",
    "open_beneath",
    "open_folder_at_once",
    "parse_exactly",
    "printable",
    "read_beneath",
    "redact",
    "sha256",
    "type_of_device",
    "write_once",
    "write_snapshot",
]
