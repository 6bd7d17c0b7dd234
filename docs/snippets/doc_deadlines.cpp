// Deadlines of elastic jobs: a plan that keeps all of them, or what would have to change.

#include <cstddef>
#include <goodput/deadlines.hpp>
#include <iostream>
#include <string>
#include <vector>

int main() {
    // [admit]
    // Eight A100 until more come in two hours. Speeds in examples/s on 1, 2, 4 and 8 GPUs.
    const goodput::ClusterOverTime cluster{
        {"A100"}, {{.nodes = 1, .gpus_per_node = 8}, {.nodes = 1, .gpus_per_node = 8, .from_seconds = 7200}}};
    std::vector<goodput::DeadlineJob> jobs{
        {.name = "paper", .work_left = 9e6, .deadline_seconds = 5400, .speed = {{400, 760, 1400, 2500}}},
        {.name = "sweep", .work_left = 8e6, .deadline_seconds = 14400, .speed = {{500, 900, 1600, 2600}}},
        {.name = "eval", .work_left = 3e6, .deadline_seconds = 9000, .speed = {{450, 820}}}};
    for (goodput::DeadlineJob& job : jobs) job.restart_seconds = 60;

    const goodput::AdmissionOptions options{.slot_seconds = 300};
    const goodput::Admission admission = goodput::admit(cluster, jobs, options);
    std::cout << admission.report() << "\n";
    for (const goodput::PlannedPiece& piece : admission.plan)
        std::cout << jobs[piece.job].name << ": " << piece.held.gpus << " GPUs from " << piece.from_seconds
                  << " s to " << piece.until_seconds << " s\n";
    // [/admit]

    // [change]
    jobs.push_back(
        {.name = "late", .work_left = 6e6, .deadline_seconds = 5400, .speed = {{400, 760, 1400, 2500}}});
    const goodput::Admission refused = goodput::admit(cluster, jobs, options);
    std::cout << refused.report() << "\n";
    std::cout << "late: " << goodput::what_would_help(cluster, jobs, 3, options) << "\n";
    // [/change]
    return 0;
}
