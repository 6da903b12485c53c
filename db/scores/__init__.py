"""Scores of metrics, external scores, and projects as arrays."""
