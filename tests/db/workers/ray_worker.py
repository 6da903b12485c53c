"""`workers ray --address ADDRESS --max 2 --once` with the metric of `slow_worker`."""

import sys

from db.ray_workers import run_ray_workers
from tests.db.workers.slow_worker import load

if __name__ == "__main__":
    run_ray_workers(sys.argv[1], largest=2, once=True, load=load)
