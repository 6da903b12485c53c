"""`python -m core workers ray` with the metric of `slow_worker`, arguments as there."""

import sys

from db.ray_workers import main
from tests.db.workers.slow_worker import load

if __name__ == "__main__":
    sys.exit(main(load=load))
