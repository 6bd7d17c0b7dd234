// deadline_admission DATA/elasticflow [RESTART_SECONDS]: asks admit() whether all jobs of recorded states can
// end before their deadlines, at any time and in whole slots, and prints a line of JSON for each state: the
// answer, CPU milliseconds (least of three), by how many pieces more than one a plan has for a job on
// average, and what an independent checker finds wrong with it. Where the recorded greedy refused, also how
// many newcomers are admitted one after the other.

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
    Admission answer;
    const double milliseconds =
        benchmarks::least_milliseconds([] {}, [&] { answer = admit(state.cluster, state.jobs, options); });
    static constexpr const char* statuses[] = {"possible", "impossible", "unknown"};
    nlohmann::json line{{"slot_s", slot_seconds},
                        {"jobs", state.jobs.size()},
                        {"status", statuses[static_cast<int>(answer.status)]},
                        {"milliseconds", milliseconds},
                        {"programs", answer.programs}};
    if (answer.impossible_alone) line["impossible_alone"] = state.jobs[*answer.impossible_alone].name;
    if (answer.status != AdmissionStatus::possible) return line;
    std::vector<std::size_t> pieces(state.jobs.size(), 0);
    for (const PlannedPiece& piece : answer.plan) ++pieces[piece.job];
    std::size_t more = 0;
    for (const std::size_t of_job : pieces) more += of_job > 1 ? of_job - 1 : 0;
    line["changes"] = static_cast<double>(more) / static_cast<double>(state.jobs.size());
    line["wrong"] = support::wrong_with(state.cluster, state.jobs, answer.plan, slot_seconds);
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
                    if (kind == "admissions" && !state.greedy_admits_all) {
                        const OrderedAdmission order =
                            admit_in_order(state.cluster, state.jobs, {.slot_seconds = slot});
                        std::size_t newcomers = 0;
                        for (const std::size_t job : order.admitted) newcomers += job >= state.running;
                        line["newcomers"] = newcomers;
                        line["exact"] = state.exact_admits;
                    }
                    std::cout << line << "\n";
                }
                ++index;
            }
        }
}
