"""What of the user's environment an agent may get to see: names alone, decided once."""

from __future__ import annotations

from typing import Final

PASSED_VARIABLES: Final = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TZ",
    "USER",
    # Without these a machine behind a proxy, or with certificates of its own, reaches no model.
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "CODEX_CA_CERTIFICATE",
    "NODE_EXTRA_CA_CERTS",
    # Who reaches its models through a gateway has said so here.
    "ANTHROPIC_BASE_URL",
    "CODEX_REFRESH_TOKEN_URL_OVERRIDE",  # who signs in through a gateway renews there, too
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
PASSED_PREFIX: Final = "LC_"


def is_passed(name: str) -> bool:
    """Tell whether a variable passes: what a program needs to find its way does; the rest, keys above all, does not."""
    return name in PASSED_VARIABLES or name.startswith(PASSED_PREFIX)
