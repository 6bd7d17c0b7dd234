// Fits histories as Sia's public simulator does. A line is a history: "count", then nodes, replicas, batch,
// step and synchronising seconds of each sample. Writes a line for each: the seven parameters, the objective,
// iterations, evaluations and microseconds (the lesser of two runs). For compare_published_fit.py.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <limits>
#include <vector>

#include "peers/sia/published_fit.hpp"

int main() {
    std::vector<goodput::ThroughputSample> samples;
    goodput::peers::PublishedFitter fitter;
    for (std::size_t count = 0; std::cin >> count;) {
        samples.resize(count);
        for (auto& s : samples)
            std::cin >> s.shape.nodes >> s.shape.gpus >> s.plan.atomic_batch >> s.step_seconds >>
                s.sync_seconds;
        if (!std::cin) {
            std::cerr << "published_fit_pipe: a line ends before its samples do\n";
            return 1;
        }
        goodput::PolluxThroughput m;
        double least = std::numeric_limits<double>::infinity();
        for (int repeat = 0; repeat < 2; ++repeat) {
            const auto begin = std::chrono::steady_clock::now();
            m = fitter.fit(samples);
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
            least = std::min(least, took.count());
        }
        std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d %d %.3f\n", m.alpha_c, m.beta_c,
                    m.alpha_n, m.beta_n, m.alpha_r, m.beta_r, m.gamma, fitter.end().objective,
                    fitter.end().iterations, fitter.end().evaluations, least);
    }
}
