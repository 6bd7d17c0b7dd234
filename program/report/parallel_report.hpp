#ifndef GOODPUT_PROGRAM_REPORT_PARALLEL_REPORT_HPP
#define GOODPUT_PROGRAM_REPORT_PARALLEL_REPORT_HPP

// Parallelism plans as one self-contained page. Each has the timeline of its stages, the memory of their
// GPUs, and a table.

#include <iosfwd>
#include <string>
#include <vector>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace cli {

/// A plan that was answered or evaluated.
struct ReportedPlan {
    const goodput::LayeredModel* model = nullptr;
    const goodput::ParallelCluster* cluster = nullptr;  ///< has the types and zones that the plan names
    goodput::ParallelPlan plan{};
    goodput::PlanScore score{};
    std::string proof{};  ///< what is known about better plans, in a sentence
};

/// Writes the page. Equal input gives equal bytes.
void write_parallel_report(std::ostream& out, const std::vector<ReportedPlan>& plans);

}  // namespace cli

#endif
