"""The queue of scoring jobs, their chunks, and what workers read."""
