"""Runs the benchmarks: the refinement engine, the search for λ, SMART's sentence matrices, then NLI in batches."""

from tests.bench import calibration, nli, refinement, smart

if __name__ == "__main__":
    if refinement.main():
        calibration.main()
        smart.main()
        nli.main()
