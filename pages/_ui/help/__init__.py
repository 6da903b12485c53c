"""What the Help page draws with."""
