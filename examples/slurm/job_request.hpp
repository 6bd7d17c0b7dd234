#ifndef GOODPUT_EXAMPLES_SLURM_JOB_REQUEST_HPP
#define GOODPUT_EXAMPLES_SLURM_JOB_REQUEST_HPP

// The comment with which the submitter describes a job:
//
//     goodput gpus=1-8 batch=128-4096 local=t4:1-64,a100:1-256 rate=t4:400,a100:2500 restart=20
//
//     gpus      fewest and most GPUs
//     batch     total batch size that the script was written for, and the largest that it may be trained with
//     local     least and most examples that one GPU takes at once, by GPU type; a type not named is not used
//     rate      examples a second of one GPU at its largest local batch, where known
//     restart   seconds that a restart costs, where known
//     work      useful examples from the beginning to the end, for a promise of its sbatch --deadline
//     pause     (alone) leave the job as it is: neither start it nor take its GPUs
//
// and what its training reports while it runs (training_files.hpp).

#include <optional>
#include <string_view>
#include <vector>

#include "goodput/core/job.hpp"
#include "state.hpp"

namespace slurm {

/// A job whose comment begins with the word goodput.
[[nodiscard]] bool is_elastic(const Job& job);

/// Throws std::invalid_argument for the comment of a job that is not elastic but has such keys: its first
/// word is misspelt or missing. If the job was submitted held, it would otherwise wait forever without a
/// message.
void require_no_slip(const Job& job);

struct JobRequest {
    goodput::Job job{};  ///< limits; the controller fills in the rest
    bool pause = false;
    std::optional<double> work{};  ///< useful examples, from beginning to end
    bool restart_known = false;    ///< whether the comment says what a restart costs
};

/// Reads the comment. Throws std::invalid_argument that names the key, its value and the expected form.
/// `gpu_types` are the cluster's. Types that it lacks are ignored, so a job may name every type that
/// exists.
[[nodiscard]] JobRequest read_request(const Job& job, const std::vector<std::string>& gpu_types,
                                      double usual_restart_seconds);

}  // namespace slurm

#endif
