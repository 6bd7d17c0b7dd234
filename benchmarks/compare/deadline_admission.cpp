// deadline_admission DATA/elasticflow [RESTART_SECONDS]: asks admit() whether all jobs of recorded states
// can end before their deadlines, at any time and in whole slots, without those that could not even end in
// time alone. For states of eight jobs or more, it asks the same for the fewest nodes on which there is a
// plan without restarts and slots, and for one node less. Prints a line of JSON per question: the answer,
// CPU milliseconds (least of three), by how many a plan's pieces per job exceed one on average, and what an
// independent checker finds wrong with it.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../cpu_time.hpp"
#include "deadlines/deadline_oracle.hpp"
#include "deadlines/recorded_admissions.hpp"
#include "goodput/deadlines.hpp"

using namespace goodput;

namespace {

/// A recorded state without the jobs that could not end in time alone.
struct Question {
    ClusterOverTime cluster{};
    std::vector<DeadlineJob> jobs{};
    std::vector<std::string> left_out{};
    std::size_t newcomers = 0;
};

Question question_of(const support::AdmissionState& state, const AdmissionOptions& options) {
    Question question{state.cluster};
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
        const std::vector<DeadlineJob> alone{state.jobs[j]};
        if (admit(state.cluster, alone, options).status != AdmissionStatus::possible) {
            question.left_out.push_back(state.jobs[j].name);
            continue;
        }
        question.jobs.push_back(state.jobs[j]);
        if (j >= state.running) ++question.newcomers;
    }
    return question;
}

int fewest_nodes(Question question) {
    for (DeadlineJob& job : question.jobs) job.restart_seconds = 0;
    int& nodes = question.cluster.nodes[0].nodes;
    do --nodes;
    while (admit(question.cluster, question.jobs).status == AdmissionStatus::possible);
    return nodes + 1;
}

nlohmann::json line_of(const Question& question, const AdmissionOptions& options) {
    Admission answer;
    const double milliseconds = benchmarks::least_milliseconds(
        [] {}, [&] { answer = admit(question.cluster, question.jobs, options); });
    static constexpr const char* statuses[] = {"possible", "impossible", "unknown"};
    const NodesOverTime& nodes = question.cluster.nodes[0];
    nlohmann::json line{{"gpus", nodes.nodes * nodes.gpus_per_node},
                        {"left_out", question.left_out},
                        {"status", statuses[static_cast<int>(answer.status)]},
                        {"milliseconds", milliseconds},
                        {"programs", answer.programs}};
    if (answer.status != AdmissionStatus::possible) return line;
    std::vector<std::size_t> pieces(question.jobs.size(), 0);
    for (const PlannedPiece& piece : answer.plan) ++pieces[piece.job];
    std::size_t more = 0;
    for (const std::size_t of_job : pieces) more += of_job > 1 ? of_job - 1 : 0;
    line["changes"] =
        static_cast<double>(more) / static_cast<double>(std::max<std::size_t>(pieces.size(), 1));
    line["wrong"] = support::wrong_with(question.cluster, question.jobs, answer.plan, options.slot_seconds);
    line["newcomers"] = question.newcomers;
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
                    const AdmissionOptions options{.slot_seconds = slot};
                    Question question = question_of(state, options);
                    const auto print = [&](const std::string& nodes) {
                        nlohmann::json line = line_of(question, options);
                        line.update({{"trace", trace.name},
                                     {"kind", kind},
                                     {"state", index},
                                     {"slot_s", slot},
                                     {"nodes", nodes},
                                     {"greedy", state.greedy_admits_all},
                                     {"recorded", state.exact_admits}});
                        std::cout << line << "\n";
                    };
                    print("all");
                    if (question.jobs.size() < 8) continue;
                    question.cluster.nodes[0].nodes = fewest_nodes(question);
                    print("fewest");
                    --question.cluster.nodes[0].nodes;
                    print("one less");
                }
                ++index;
            }
        }
}
