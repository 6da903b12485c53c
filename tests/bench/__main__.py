"""Runs the benchmarks: refinement, the search for λ, tests between metrics, SMART's sentence matrices, NLI in batches, string metrics, the stress test."""

from core.settings import share_cores

share_cores()  # as the server and workers do, before torch is loaded

from tests.bench import calibration, evaluation, nli, refinement, smart, stress, strings  # noqa: E402

if __name__ == "__main__":
    if refinement.main():
        calibration.main()
        evaluation.main()
        smart.main()
        nli.main()
        strings.main()
        stress.main()
