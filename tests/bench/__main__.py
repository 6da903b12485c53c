"""Runs the benchmarks: the refinement engine, the search for λ, SMART's sentence matrices, NLI in batches, then the stress test."""

from tests.bench import calibration, nli, refinement, smart, stress

if __name__ == "__main__":
    if refinement.main():
        calibration.main()
        smart.main()
        nli.main()
        stress.main()
