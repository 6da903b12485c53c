"""Imports: compared with the project, and written in slices."""
