#ifndef GOODPUT_EXAMPLES_SLURM_STATE_HPP
#define GOODPUT_EXAMPLES_SLURM_STATE_HPP

// What Slurm says: its nodes with GPUs, and the jobs that wait or run. Everything that the controller has to
// know after a restart is in here or in the jobs' own folders.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slurm {

/// GPUs on nodes, as many on each: what a job asks for, holds, or is to get. Without nodes: nothing.
struct Share {
    std::vector<std::string> nodes{};  ///< in alphabetical order
    int gpus_per_node = 0;

    [[nodiscard]] bool empty() const { return nodes.empty(); }
    friend auto operator<=>(const Share&, const Share&) = default;
};

/// "big0,big1:8"; "nothing" where empty.
std::string text_of(const Share& share);

struct Node {
    std::string name{};
    std::string gpu_type{};
    int gpus = 0;
    bool drained = false;  ///< who runs there may stay, no new job comes
    bool answers = true;   ///< false: it may be lost; what runs there is left alone until Slurm has decided
    bool ending = false;   ///< a job ends there; until it has, Slurm starts none
};

enum class JobState {
    held,     ///< waits until somebody releases it
    pending,  ///< released: Slurm starts it as soon as it can
    running,
    ending  ///< gives its GPUs back; afterwards held, or over
};

struct Job {
    std::string id{};
    JobState state = JobState::held;
    std::string comment{};
    std::string admin_comment{};
    std::string folder{};        ///< where it was submitted
    std::string gpu_type{};      ///< that it insists on; empty: any
    bool asks_per_node = false;  ///< it was submitted with --gres=gpu:..., which can be changed
    /// A node was given up while the job was ending on it: Slurm 22.05 keeps the job's old GPUs on its books
    /// then, fails to start it the next time, and loses the new ones until it is reconfigured.
    bool not_cleared = false;
    bool delayed = false;        ///< pending: Slurm makes it wait two minutes, because it requeued it itself
    bool held_by_admin = false;  ///< an operator's hold, not the submitter's
    Share asks{};                ///< pending: the nodes and GPUs that it was released for
    Share holds{};               ///< running
    std::vector<int> held_gpus{};  ///< by node of `holds`; they differ only for jobs that others started
    double submitted_seconds = 0;  ///< the last time that it was (re)queued
    double deadline_seconds = 0;   ///< by when it has to end, as sbatch --deadline says; 0: whenever
    double started_seconds = 0;
    int restarts = 0;
    std::string gres_word = "gres:";  ///< how its request for GPUs begins; "gres/" since Slurm 23.11
    std::string unclear{};            ///< running: why it is not known what it holds; it is left alone then
};

struct State {
    double time_seconds = 0;
    std::vector<Node> nodes{};  ///< healthy ones with GPUs of one type, by name
    std::vector<Job> jobs{};    ///< not over yet, by number
};

/// A node in Slurm's own words; `gres` as in "gpu:t4:4". Nothing for one that has no GPUs, or several types
/// of them.
std::optional<Node> node_of(std::string name, std::string_view gres, bool drained, bool answers);

/// A job in Slurm's own words.
struct JobWords {
    long long id = 0;
    std::string state{};   ///< in full: "PENDING", "RUNNING", "COMPLETING", ...
    std::string reason{};  ///< why it waits: "BeginTime", "JobHeldAdmin", ...
    std::string comment{}, admin_comment{}, folder{};
    std::string tres_per_node{};   ///< "gres:gpu:t4:1"
    std::string required_nodes{};  ///< "big0,big1"
    std::string nodes{};           ///< that it has, or had when it was last seen there
    double priority = 0;           ///< 0: held
    double submitted_seconds = 0, started_seconds = 0;
    double deadline_seconds = 0;  ///< 0: none
    int restarts = 0;
    std::vector<std::pair<std::string, std::string>>
        held{};             ///< running: nodes, and of each "gpu:t4:2(IDX:0-1)"
    std::string unclear{};  ///< running: why `held` is not all that it holds
};

/// The job that is meant.
Job job_of(const JobWords& words);

/// In the order of their numbers.
void sort_jobs(std::vector<Job>& jobs);

/// Makes the state of what `squeue --json`, `sinfo --json` (since Slurm 23.02 `scontrol --json show nodes`)
/// and `squeue -h -t all -o "%A %T"` print, the last one asked for after the first: JSON calls a job pending
/// that is still ending. Reads the forms that fields have had from Slurm 21.08 to 25.11. Throws
/// std::runtime_error that names version, job or node, and field, where one has another form.
State read_state(std::string_view queue, std::string_view nodes, std::string_view states,
                 double time_seconds);

/// Asks Slurm, whose programs have so many seconds each. Throws std::runtime_error with Slurm's own words
/// where it does not answer.
State ask_slurm(double answer_seconds);

}  // namespace slurm

#endif
