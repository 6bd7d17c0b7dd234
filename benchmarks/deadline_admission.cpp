// deadline_admission DATA/elasticflow [RESTART_SECONDS]: asks admit() whether all jobs of recorded states can
// end before their deadlines, but for those that could not even alone, at any time and in whole slots. Prints
// a line of JSON for each state: the answer, CPU milliseconds (least of three), by how many pieces more than
// one a plan has for a job on average, and what an independent checker finds wrong with it; and how many
// newcomers that makes.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cpu_time.hpp"
#include "goodput/deadlines.hpp"
#include "support/deadline_oracle.hpp"
#include "support/recorded_admissions.hpp"

using namespace goodput;

namespace {

nlohmann::json line_of(const support::AdmissionState& state, double slot_seconds) {
    const AdmissionOptions options{.slot_seconds = slot_seconds};
    std::vector<DeadlineJob> jobs;
    std::vector<std::string> left_out;
    std::size_t newcomers = 0;
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
        const std::vector<DeadlineJob> alone{state.jobs[j]};
        if (admit(state.cluster, alone, options).status != AdmissionStatus::possible) {
            left_out.push_back(state.jobs[j].name);
            continue;
        }
        jobs.push_back(state.jobs[j]);
        if (j >= state.running) ++newcomers;
    }
    Admission answer;
    const double milliseconds =
        benchmarks::least_milliseconds([] {}, [&] { answer = admit(state.cluster, jobs, options); });
    static constexpr const char* statuses[] = {"possible", "impossible", "unknown"};
    nlohmann::json line{
        {"slot_s", slot_seconds},        {"jobs", jobs.size()},
        {"left_out", left_out},          {"status", statuses[static_cast<int>(answer.status)]},
        {"milliseconds", milliseconds},  {"programs", answer.programs},
        {"recorded", state.exact_admits}};
    if (answer.status != AdmissionStatus::possible) return line;
    std::vector<std::size_t> pieces(jobs.size(), 0);
    for (const PlannedPiece& piece : answer.plan) ++pieces[piece.job];
    std::size_t more = 0;
    for (const std::size_t of_job : pieces) more += of_job > 1 ? of_job - 1 : 0;
    line["changes"] = static_cast<double>(more) / static_cast<double>(std::max<std::size_t>(jobs.size(), 1));
    line["wrong"] = support::wrong_with(state.cluster, jobs, answer.plan, slot_seconds);
    line["newcomers"] = newcomers;
    return line;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: deadline_admission DATA/elasticflow [RESTART_SECONDS]\n";
        return 2;
    }
    const std::string folder = argv[1];
    const double restart = argc > 2 ? std::atof(argv[2]) : 0;
    for (const support::AdmissionTrace& trace : {support::evp, support::t195})
        for (const std::string kind : {"admissions", "refusals"}) {
            std::size_t index = 0;
            for (support::AdmissionState& state : support::read_admission_states(folder, trace, kind)) {
                for (DeadlineJob& job : state.jobs) job.restart_seconds = restart;
                for (const double slot : {0.0, trace.slot_seconds}) {
                    nlohmann::json line = line_of(state, slot);
                    line["trace"] = trace.name;
                    line["kind"] = kind;
                    line["state"] = index;
                    line["restart_s"] = restart;
                    line["greedy"] = state.greedy_admits_all;
                    std::cout << line << "\n";
                }
                ++index;
            }
        }
}
