#!/usr/bin/python3
"""Throughput fits by goodput and by the published method (scipy's L-BFGS-B), side by side in one run.

usage: compare_fit.py PROFILES [INCLUDE [COMPILER]]

Draws samples as jobs gather them from the measured profiles in PROFILES (2 to 6 shapes, 5 to 30 samples), fits every set
by both, and prints the ratio of the times and the error of the step time over the whole profile. INCLUDE is
the folder of goodput's headers (default: ../include beside this script), COMPILER defaults to g++.
"""
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import published_fit  # noqa: E402

PROGRAM = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <vector>
#include "goodput/fit/throughput_fit.hpp"

// Reads sets of samples ("count", then nodes gpus batch step sync), writes microseconds, iterations and parameters.
int main() {
    goodput::ThroughputFitter fitter;
    std::size_t count = 0;
    while (std::cin >> count) {
        std::vector<goodput::ThroughputSample> samples(count);
        for (auto& s : samples)
            std::cin >> s.shape.nodes >> s.shape.gpus >> s.plan.atomic_batch >> s.step_seconds >> s.sync_seconds;
        goodput::ThroughputFit fit;
        double least = 1e9;
        for (int repeat = 0; repeat < 7; ++repeat) {
            const auto begin = std::chrono::steady_clock::now();
            fit = fitter.fit(samples);
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
            least = std::min(least, took.count());
        }
        const auto& m = fit.model;
        std::printf("%.3f %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", least, fit.iterations, m.alpha_c,
                    m.beta_c, m.alpha_n, m.beta_n, m.alpha_r, m.beta_r, m.gamma);
    }
}
"""


def draw(profile, rng):
    shapes = sorted({(n, k) for n, k in profile[:, :2].tolist()})
    chosen = {(1.0, 1.0)} | set(rng.sample(shapes, min(len(shapes), rng.randint(1, 5))))
    pool = [row for row in profile.tolist() if (row[0], row[1]) in chosen]
    return np.array([rng.choice(pool) for _ in range(rng.randint(5, 30))])


def main():
    profiles = pathlib.Path(sys.argv[1])
    include = sys.argv[2] if len(sys.argv) > 2 else str(pathlib.Path(__file__).parent.parent / "include")
    compiler = sys.argv[3] if len(sys.argv) > 3 else "g++"
    rng = random.Random(1)
    tables = [published_fit.read_profile(profiles / application / f"placements-{gpu_type}.csv")
              for application in published_fit.APPLICATIONS for gpu_type in published_fit.TYPES]
    sets = [(table, draw(table, rng)) for table in tables for _ in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "fit.cpp"), pathlib.Path(folder, "fit")
        source.write_text(PROGRAM)
        subprocess.run([compiler, "-std=c++20", "-O2", f"-I{include}", "-isystem", "/usr/include/eigen3", str(source),
                        "-o", str(program)], check=True)
        text = "\n".join(f"{len(samples)} " + " ".join(
            f"{int(n)} {int(k)} {int(b)} {t!r} {y!r}" for n, k, b, t, y in samples.tolist()) for _, samples in sets)
        lines = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True).stdout
    ours = [np.array([float(cell) for cell in line.split()]) for line in lines.splitlines()]
    rows = []
    for (table, samples), our in zip(sets, ours):
        least = np.inf
        for _ in range(2):
            begin = time.perf_counter()
            parameters, _ = published_fit.fit(samples)
            least = min(least, time.perf_counter() - begin)
        # A zero has no logarithm, and stands for "no time".
        our_parameters = np.maximum(our[2:], 1e-300)
        rows.append((our[0], 1e6 * least, published_fit.errors(our_parameters, table)[1],
                     published_fit.errors(parameters, table)[1]))
    ours_us, theirs_us, our_error, their_error = np.array(rows).T
    print(f"{len(rows)} fits of 5 to 30 samples")
    print(f"{'':26} {'goodput':>10} {'published':>10} {'ratio':>8}")
    print(f"{'microseconds, median':26} {np.median(ours_us):10.1f} {np.median(theirs_us):10.1f} "
          f"{np.median(theirs_us / ours_us):8.0f}")
    print(f"{'microseconds, mean':26} {ours_us.mean():10.1f} {theirs_us.mean():10.1f} "
          f"{theirs_us.sum() / ours_us.sum():8.0f}")
    print(f"{'error of step, median':26} {np.median(our_error):10.4f} {np.median(their_error):10.4f} "
          f"{np.median(their_error / our_error):8.2f}")
    print(f"{'error of step, mean':26} {our_error.mean():10.4f} {their_error.mean():10.4f} "
          f"{their_error.mean() / our_error.mean():8.2f}")


if __name__ == "__main__":
    main()
