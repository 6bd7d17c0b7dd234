#!/usr/bin/python3
"""Compares throughput fits by goodput and by the published method (scipy's L-BFGS-B), in one run.

usage: compare_fit.py PROFILES [INCLUDE [COMPILER]]

Draws samples as jobs gather them from the measured profiles in PROFILES, sets of 5 to 30 (of 2 to 6 shapes) and
of 50 (of any shape), fits every set by both, and prints the times, their ratio, and the error of the step time
over the whole profile. The published objective is minimised with its exact gradient and with scipy's own
differences. INCLUDE is the folder of goodput's headers (default: ../include next to this script), COMPILER
defaults to g++.

seven      the published model: ThroughputFitter
refined    JobFitter::fit; again: from its fit of all samples but the last
job        JobFitter: the refit of a job with so many samples on each of up to three GPU types after one more
           sample on one of them; next to the published fit of that type alone
"""
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np

import published_fit

PROGRAM_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "program"  # has peers/
PROGRAM = r"""
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <limits>
#include <span>
#include <vector>
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/job_fit.hpp"
#include "peers/pollux/throughput_fit.hpp"

using Samples = std::vector<goodput::ThroughputSample>;

Samples read() {
    std::size_t count = 0;
    std::cin >> count;
    Samples samples(count);
    for (auto& s : samples)
        std::cin >> s.shape.nodes >> s.shape.gpus >> s.plan.atomic_batch >> s.step_seconds >> s.sync_seconds;
    return samples;
}

// Microseconds: the least of some repetitions, each after prepare().
template <class Prepare, class Work>
double microseconds(Prepare prepare, Work work) {
    double least = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < 7; ++repeat) {
        prepare();
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count());
    }
    return least;
}

template <class Model>
double error(const Model& model, const Samples& truth) {
    double squares = 0;
    for (const auto& s : truth) {
        const double off = std::log(model.iteration_seconds(s.shape, {s.plan.atomic_batch, 0}) / s.step_seconds);
        squares += off * off;
    }
    return std::sqrt(squares / static_cast<double>(truth.size()));
}

// Reads tables ("count", then nodes gpus batch step sync), then jobs: how many types, and for each its table and
// samples; the last sample of the first type is new. Writes microseconds of the fits of the first type's
// samples, those of the job's refit, and errors over the table.
int main() {
    std::size_t tables = 0, types = 0;
    std::cin >> tables;
    std::vector<Samples> truths;
    for (std::size_t i = 0; i < tables; ++i) truths.push_back(read());
    goodput::peers::ThroughputFitter seven_fitter;
    goodput::JobFitter refined_fitter;
    goodput::JobFitter job_fitter;
    const auto nothing = [] {};
    while (std::cin >> types) {
        std::vector<Samples> samples;
        std::size_t first = 0;
        for (std::size_t t = 0; t < types; ++t) {
            std::size_t table = 0;
            std::cin >> table;
            if (t == 0) first = table;
            samples.push_back(read());
        }
        const Samples& own = samples.front();
        goodput::peers::ThroughputFit seven;
        const double seven_us = microseconds(nothing, [&] { seven = seven_fitter.fit(own); });
        goodput::RefinedFit refined, again;
        const double refined_us = microseconds(nothing, [&] { refined_fitter.fit(own, {}, refined); });
        const goodput::RefinedFit before = refined_fitter.fit(std::span(own).first(own.size() - 1));
        const double again_us =
            microseconds(nothing, [&] { refined_fitter.fit(own, {.start = &before}, again); });

        const auto added = own.back();
        std::vector<goodput::TypeFit> fits_before(types), fits;
        samples.front().pop_back();
        job_fitter(samples, fits_before);
        samples.front().push_back(added);
        const double job_us = microseconds([&] { fits = fits_before; },
                                           [&] {
                                               job_fitter([&](std::size_t t) -> std::span<const goodput::ThroughputSample> { return samples[t]; },
            std::span<goodput::TypeFit>(fits), "job", [](std::size_t t) { return t == 0; });
                                           });
        std::printf("%.3f %.3f %.3f %.3f %.9g %.9g\n", seven_us, refined_us, again_us, job_us,
                    error(seven.model, truths[first]), error(refined.model, truths[first]));
    }
}
"""


def draw(profile, rng, count):
    """Draws samples of a table: up to 30 from two to six shapes, more from any shape."""
    rows = profile.tolist()
    if count <= 30:
        shapes = sorted({(row[0], row[1]) for row in rows})
        chosen = {(1.0, 1.0)} | set(rng.sample(shapes, min(len(shapes), rng.randint(1, 5))))
        rows = [row for row in rows if (row[0], row[1]) in chosen]
    return np.array([rng.choice(rows) for _ in range(count)])


def text_of(samples):
    return f"{len(samples)} " + " ".join(f"{int(n)} {int(k)} {int(b)} {t!r} {y!r}" for n, k, b, t, y in samples.tolist())


def run(tables, jobs, include, compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "fit.cpp"), pathlib.Path(folder, "fit")
        source.write_text(PROGRAM)
        subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{include}",
                        f"-I{PROGRAM_FOLDER}", "-isystem", "/usr/include/eigen3",
                        str(source), str(PROGRAM_FOLDER / "peers" / "pollux" / "box_backend.cpp"), "-o", str(program),
                        "-lceres", "-lglog"], check=True)
        text = "\n".join([str(len(tables))] + [text_of(table) for table in tables]
                         + [f"{len(job)} " + " ".join(f"{i} {text_of(samples)}" for i, samples in job) for job in jobs])
        lines = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True).stdout
    return np.array([[float(cell) for cell in line.split()] for line in lines.splitlines()])


def time_published(samples, exact_gradient):
    least = np.inf
    for _ in range(2):
        begin = time.perf_counter()
        parameters, _ = published_fit.fit(samples, exact_gradient=exact_gradient)
        least = min(least, time.perf_counter() - begin)
    return parameters, 1e6 * least


def report(title, tables, jobs, ours):
    exact_us, differences_us, their_error = [], [], []
    for job in jobs:
        table, samples = job[0]
        parameters, microseconds = time_published(samples, True)
        exact_us.append(microseconds)
        differences_us.append(time_published(samples, False)[1])
        their_error.append(published_fit.errors(parameters, tables[table])[1])
    exact_us, differences_us, their_error = np.array(exact_us), np.array(differences_us), np.array(their_error)
    seven_us, refined_us, again_us, job_us, seven_error, refined_error = ours.T
    print(f"\n{len(jobs)} fits of {title}; medians\n{'':20} {'us':>9} {'ratio':>7} {'ratio':>12} {'error of step':>14}")
    print(f"{'published, exact':20} {np.median(exact_us):9.1f} {'':7} {'':12} {np.median(their_error):14.4f}")
    print(f"{'same, differences':20} {np.median(differences_us):9.1f}")
    for name, microseconds, error in (("seven", seven_us, seven_error), ("refined", refined_us, refined_error),
                                      ("refined, again", again_us, None), ("job, again", job_us, None)):
        line = (f"{name:20} {np.median(microseconds):9.1f} {np.median(exact_us / microseconds):7.0f} "
                f"{np.median(differences_us / microseconds):12.0f}")
        print(line if error is None else f"{line} {np.median(error):14.4f}")


def main():
    include = sys.argv[2] if len(sys.argv) > 2 else str(pathlib.Path(__file__).resolve().parents[2] / "include")
    compiler = sys.argv[3] if len(sys.argv) > 3 else "g++"
    rng = random.Random(1)
    tables, applications = [], []
    for types in published_fit.read_profiles(sys.argv[1]).values():
        applications.append(range(len(tables), len(tables) + len(types)))
        tables.extend(types.values())

    def job(first, of, count):
        others = [i for i in of if i != first][:2]
        return [(i, draw(tables[i], rng, count)) for i in [first] + others]

    several = [job(first, of, rng.randint(5, 30)) for of in applications for first in of for _ in range(20)]
    fifty = [job(first, of, 50) for of in applications for first in of for _ in range(5)]
    ours = run(tables, several + fifty, include, compiler)
    print("ratio: of the published fit's time to ours, exact gradient and differences")
    report("5 to 30 samples", tables, several, ours[:len(several)])
    report("50 samples", tables, fifty, ours[len(several):])


if __name__ == "__main__":
    main()
