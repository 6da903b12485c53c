"""Human-evaluation campaigns: units, participants and assignments."""
