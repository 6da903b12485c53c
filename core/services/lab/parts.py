"""Which parts of a value are parts of the score; others (which reference was taken, terms of a formula) are not followed over levels."""

from __future__ import annotations

PARTS = ("precision", "recall", "f", "coherence", "consistency", "fluency", "relevance", "overall")
"""In the order in which they are told."""
