"""Runs the benchmarks: the refinement engine, then the search for λ."""

from tests.bench import calibration, refinement

if __name__ == "__main__":
    if refinement.main():
        calibration.main()
