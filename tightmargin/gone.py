"""Names of former versions, with what to take instead: refused by name for one release."""

GONE = {
    "conic_sdp_lift": "conic_sdp_strengthened with slack_bounds=tm.tighten(...).bounds",
}


def gone_text(name: str) -> str:
    """The sentence about a name that went; an empty string for any other."""
    return f"{name} is gone: take {GONE[name]}" if name in GONE else ""
