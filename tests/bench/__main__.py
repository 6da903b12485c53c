"""Runs the benchmarks: see `tests.bench.refinement`."""

from tests.bench.refinement import main

if __name__ == "__main__":
    main()
