"""The parts of a value that are followed over noise levels; other parts (chosen reference, terms of a formula) are not."""

from __future__ import annotations

PARTS = ("precision", "recall", "f", "coherence", "consistency", "fluency", "relevance", "overall")
"""In display order."""
