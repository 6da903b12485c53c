"""Protocols of the storage. Services use them, `db` implements them, tests may pass fakes.

Every method is one transaction. Results are values of `core`, never database rows. Times are timezone-aware UTC datetimes.
"""
