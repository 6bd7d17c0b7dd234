#ifndef GOODPUT_EXAMPLES_SLURM_STATE_HPP
#define GOODPUT_EXAMPLES_SLURM_STATE_HPP

// The state of Slurm: its nodes with GPUs, and the jobs that wait or run. Everything that the controller
// needs after a restart is here or in the jobs' own folders.

#include <chrono>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slurm {

/// GPUs on nodes, the same number on each: what a job asks for, holds, or is to get. Without nodes, it is
/// empty.
struct Share {
    std::vector<std::string> nodes{};  ///< in alphabetical order
    int gpus_per_node = 0;

    [[nodiscard]] bool empty() const { return nodes.empty(); }
    friend auto operator<=>(const Share&, const Share&) = default;
};

/// Returns "big0,big1:8", or "nothing" for an empty share.
std::string text_of(const Share& share);
/// Returns "big0,big1".
std::string names_of(const Share& share);

/// Returns the present time.
inline double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct Node {
    std::string name{};
    std::string gpu_type{};
    int gpus = 0;
    bool drained = false;  ///< its jobs may stay, but it accepts no new job
    bool answers = true;   ///< false: it may be lost; its jobs are left alone until Slurm has decided
    bool ending = false;   ///< a job ends there; until it has ended, Slurm starts no job
};

enum class JobState {
    held,     ///< waits until it is released
    pending,  ///< released: Slurm starts it as soon as it can
    running,
    ending  ///< gives its GPUs back; afterwards held, or over
};

struct Job {
    std::string id{};
    JobState state = JobState::held;
    std::string comment{};
    std::string admin_comment{};
    std::string folder{};        ///< folder from which it was submitted
    std::string gpu_type{};      ///< GPU type that it insists on; any if empty
    bool asks_per_node = false;  ///< it was submitted with --gres=gpu:..., which can be changed
    /// A node was given up while the job was ending on it. Slurm 22.05 then keeps the job's old GPUs on its
    /// books, fails to start it the next time, and loses the new ones until it is reconfigured.
    bool not_cleared = false;
    bool delayed = false;  ///< pending: Slurm makes it wait two minutes because Slurm itself requeued it
    bool held_by_admin = false;    ///< an operator's hold, not the submitter's
    Share asks{};                  ///< pending: the nodes and GPUs that it was released for
    Share holds{};                 ///< running: what it holds
    std::vector<int> held_gpus{};  ///< by node of `holds`; they differ only for jobs that the controller did
                                   ///< not start
    double submitted_seconds = 0;  ///< the last time that it was (re)queued
    double deadline_seconds = 0;   ///< time by which it must end, from sbatch --deadline; 0: no deadline
    double started_seconds = 0;
    int restarts = 0;
    std::string gres_word = "gres:";  ///< beginning of its request for GPUs; "gres/" since Slurm 23.11
    std::string unclear{};            ///< running: why its GPUs are unknown; it is left alone then
};

struct State {
    double time_seconds = 0;
    std::vector<Node> nodes{};  ///< healthy nodes with GPUs of one type, by name
    std::vector<Job> jobs{};    ///< jobs that are not over, by number
};

/// Returns a node from Slurm's own words, with `gres` such as "gpu:t4:4". Returns nothing for a node
/// without GPUs, or with several types.
std::optional<Node> node_of(std::string name, std::string_view gres, bool drained, bool answers);

/// A job in Slurm's own words.
struct JobWords {
    long long id = 0;
    std::string state{};   ///< in full: "PENDING", "RUNNING", "COMPLETING", ...
    std::string reason{};  ///< why it waits: "BeginTime", "JobHeldAdmin", ...
    std::string comment{}, admin_comment{}, folder{};
    std::string tres_per_node{};   ///< "gres:gpu:t4:1"
    std::string required_nodes{};  ///< "big0,big1"
    std::string nodes{};           ///< nodes that it has, or had when last seen there
    double priority = 0;           ///< 0 if held
    double submitted_seconds = 0, started_seconds = 0;
    double deadline_seconds = 0;  ///< 0 if none
    int restarts = 0;
    std::vector<std::pair<std::string, std::string>>
        held{};             ///< running: nodes, each with its GPUs such as "gpu:t4:2(IDX:0-1)"
    std::string unclear{};  ///< running: why `held` is incomplete
};

/// Returns the job that these words describe.
Job job_of(const JobWords& words);

/// Sorts jobs by their numbers.
void sort_jobs(std::vector<Job>& jobs);

/// Reads the state from the outputs of `squeue --json`, `sinfo --json` (since Slurm 23.02 `scontrol --json
/// show nodes`) and `squeue -h -t all -o "%A %T"`. Ask for the last one after the first, because JSON calls
/// a job pending that is still ending. Accepts the forms that fields have had from Slurm 21.08 to 25.11.
/// Throws std::runtime_error that names version, job or node, and field for any other form.
State read_state(std::string_view queue, std::string_view nodes, std::string_view states,
                 double time_seconds);

/// Asks Slurm, whose programs have that many seconds each. Throws std::runtime_error with Slurm's own words
/// if it does not answer.
State ask_slurm(double answer_seconds);

}  // namespace slurm

#endif
