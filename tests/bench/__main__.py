"""Runs the benchmarks: the refinement engine, the search for λ, SMART's sentence matrices, NLI in batches, string metrics, then the stress test."""

from core.settings import share_cores

share_cores()  # as the server and workers do, before torch is loaded

from tests.bench import calibration, nli, refinement, smart, stress, strings  # noqa: E402

if __name__ == "__main__":
    if refinement.main():
        calibration.main()
        smart.main()
        nli.main()
        strings.main()
        stress.main()
