#include "planner.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "goodput/schedule/explain_plan.hpp"

namespace slurm {

namespace {

constexpr std::string_view first_seen_note = "goodput first seen ";

/// Returns the GPUs of a share on each of its nodes.
std::vector<int> by_node(const Share& share) {
    return std::vector<int>(share.nodes.size(), share.gpus_per_node);
}

}  // namespace

double Planner::first_seen(const Job& job) {
    double seconds = job.submitted_seconds;
    const std::string& note = job.admin_comment;
    if (note.starts_with(first_seen_note))
        std::from_chars(note.data() + first_seen_note.size(), note.data() + note.size(), seconds);
    return seconds;
}

std::string Planner::note_of(const Job& job) {
    return std::string(first_seen_note) + goodput::text_of(static_cast<long long>(first_seen(job)));
}

void Planner::note_ending(const State& state) {
    std::map<std::string, double> ending;
    for (const Node& node : state.nodes) {
        if (!node.ending) continue;
        const auto known = ending_since_.find(node.name);
        ending[node.name] = known == ending_since_.end() ? state.time_seconds : known->second;
    }
    ending_since_ = std::move(ending);
}

bool Planner::takes_new(const State& state, const Node& node) const {
    if (node.drained || !node.answers) return false;
    // A job that ended because its node died keeps ending until Slurm asks that node again.
    const auto ending = ending_since_.find(node.name);
    return ending == ending_since_.end() || state.time_seconds - ending->second <= usual_restart_seconds_;
}

void Planner::name_nodes(const State& state) {
    goodput::Cluster& cluster = snapshot_.cluster;
    cluster.nodes.clear();
    free_.clear();
    for (const Node& node : state.nodes) {
        auto type = std::find(gpu_types_.begin(), gpu_types_.end(), node.gpu_type);
        if (type == gpu_types_.end()) type = gpu_types_.insert(type, node.gpu_type);
        cluster.nodes.push_back({node.name, static_cast<std::size_t>(type - gpu_types_.begin()), node.gpus,
                                 !takes_new(state, node)});
        free_.push_back(node.gpus);
    }
    cluster.gpu_types = gpu_types_;
}

std::optional<std::size_t> Planner::node_called(const std::string& name) const {
    const auto& nodes = snapshot_.cluster.nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const goodput::Node& each) { return each.name == name; });
    if (node == nodes.end()) return std::nullopt;
    return static_cast<std::size_t>(node - nodes.begin());
}

goodput::Placement Planner::place(const std::vector<std::string>& nodes, const std::vector<int>& gpus) const {
    goodput::Placement placement;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::optional<std::size_t> node = node_called(nodes[i]);
        if (!node || gpus[i] > free_[*node]) return {};
        placement.push_back({*node, gpus[i]});
    }
    return placement;
}

void Planner::occupy(const goodput::Placement& placement) {
    for (const goodput::NodeShare& share : placement) free_[share.node] -= share.gpus;
}

bool Planner::all_answer(const State& state, const goodput::Placement& placement) const {
    return std::all_of(placement.begin(), placement.end(),
                       [&](const goodput::NodeShare& share) { return state.nodes[share.node].answers; });
}

bool Planner::all_take_new(const goodput::Placement& placement) const {
    return !goodput::on_drained(placement, snapshot_.cluster);
}

goodput::JobNews Planner::hear(const Job& job) {
    Training& training = training_[job.id];
    goodput::JobNews news;
    for (const Report& report : training.reader.read_new(job)) {
        const auto type = std::find(gpu_types_.begin(), gpu_types_.end(), report.gpu_type);
        if (type != gpu_types_.end())
            news.samples.push_back({static_cast<std::size_t>(type - gpu_types_.begin()), report.sample});
        if (report.gradient) training.gradient = report.gradient;
        if (report.done_examples) training.done = report.done_examples;
        // All reports of a run repeat its start.
        std::vector<double>& starts = training.starts.start_seconds;
        if (report.start_seconds && (starts.empty() || starts.back() != *report.start_seconds))
            starts.push_back(*report.start_seconds);
    }
    return news;
}

void Planner::add_elastic(const State& state, const Job& job, goodput::Job request) {
    request.submitted_seconds = first_seen(job);
    request.restarts = job.restarts;
    if (const Training& known = training_[job.id];
        !known.restart_known && !known.starts.start_seconds.empty())
        request.restart_cost_seconds = estimated_restart_seconds(known.starts);
    if (job.state == JobState::running) {
        require_known_holding(job);
        request.placement = place(job.holds.nodes, job.held_gpus);
        request.restarting = snapshot_.time_seconds < job.started_seconds + request.restart_cost_seconds;
        request.preemptible = all_answer(state, request.placement);
    } else if (job.state == JobState::pending) {
        // The job is released but has not started, so the GPUs count as its own. If Slurm starts no job on
        // them, it would wait in vain.
        request.placement = place(job.asks.nodes, by_node(job.asks));
        if (!all_take_new(request.placement)) request.placement.clear();
        request.restarting = !request.placement.empty();
    }
    if (configuration_of(request.placement, snapshot_.cluster).empty()) request.placement.clear();
    occupy(request.placement);
    news_.push_back(hear(job));
    request.gradient = training_[job.id].gradient;
    if (job.deadline_seconds > 0) deadline_of_[job.id] = job.deadline_seconds;
    snapshot_.jobs.push_back(std::move(request));
}

/// Refuses a job that runs on nodes unknown to this round. It must not count as waiting, because planning
/// it anew would end it.
void Planner::require_known_holding(const Job& job) const {
    const std::string subject = "job " + job.id;
    if (!job.unclear.empty())
        goodput::bad_input(subject, "what it holds", "unclear (" + job.unclear + ")", "told by Slurm");
    if (job.holds.empty())
        goodput::bad_input(subject, "what it holds", std::string_view("not told"), "told by Slurm");
    for (std::size_t i = 0; i < job.holds.nodes.size(); ++i) {
        const std::optional<std::size_t> node = node_called(job.holds.nodes[i]);
        if (!node)
            goodput::bad_input(subject, "its node", "'" + job.holds.nodes[i] + "'",
                               "among those that Slurm lists as up, with GPUs of one type");
        if (job.held_gpus[i] > free_[*node])
            goodput::bad_input(subject, "GPUs on node '" + job.holds.nodes[i] + "'", job.held_gpus[i],
                               "at most the " + goodput::text_of(free_[*node]) + " that other jobs leave");
    }
    const goodput::Placement placement = place(job.holds.nodes, job.held_gpus);
    if (configuration_of(placement, snapshot_.cluster).empty())
        goodput::bad_input(subject, "its nodes", "'" + text_of(job.holds) + "'", "alike");
}

/// Adds the GPUs of a job that the controller does not manage, as one job per node that keeps them, if the
/// node exists and has that many.
void Planner::add_fixed(const Job& job) {
    for (std::size_t i = 0; i < job.holds.nodes.size(); ++i) {
        const std::optional<std::size_t> node = node_called(job.holds.nodes[i]);
        const int gpus = node ? std::min(job.held_gpus[i], free_[*node]) : 0;
        if (gpus == 0) continue;
        goodput::Job fixed{.name = job.id + "@" + job.holds.nodes[i], .initial_batch = 1, .max_batch = 1};
        fixed.placement = {{*node, gpus}};
        occupy(fixed.placement);
        fixed.max_gpus = gpus;
        fixed.preemptible = false;
        fixed.types.resize(gpu_types_.size());
        snapshot_.jobs.push_back(std::move(fixed));
        news_.push_back({.brings_model = true});  // no model, because the job keeps what it holds
    }
}

std::vector<goodput::Deadline> Planner::deadlines() const {
    std::vector<goodput::Deadline> all;
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        const goodput::Job& job = snapshot_.jobs[j];
        const auto deadline = deadline_of_.find(job.name);
        if (deadline == deadline_of_.end()) continue;
        goodput::Deadline& its =
            all.emplace_back(goodput::Deadline{.job = j, .deadline_seconds = deadline->second});
        const Training& training = training_.at(job.name);
        const double done = training.done.value_or(job.done_examples.value_or(0));
        if (training.work) its.work = std::max(0.0, *training.work - done);
    }
    return all;
}

Share Planner::share_of(const goodput::Placement& placement) const {
    Share share;
    for (const goodput::NodeShare& each : placement) {
        share.nodes.push_back(snapshot_.cluster.nodes[each.node].name);
        share.gpus_per_node = each.gpus;
    }
    return share;
}

Round Planner::plan(const State& state) {
    Round round;
    snapshot_ = {};
    news_.clear();
    deadline_of_.clear();
    snapshot_.time_seconds = state.time_seconds;
    note_ending(state);
    name_nodes(state);

    std::vector<std::pair<const Job*, goodput::Job>> elastic;
    for (const Job& job : state.jobs) {
        try {
            require_no_slip(job);
            if (is_elastic(job)) {
                JobRequest request = read_request(job, gpu_types_, usual_restart_seconds_);
                validate(request.job, snapshot_.cluster);
                if (job.not_cleared)
                    goodput::bad_input("job " + job.id, "state",
                                       std::string_view("not cleared by Slurm after a node was lost"),
                                       "submitted again; it goes on from its checkpoint");
                // Only the operator can release this job: GPUs reserved for it would stay idle.
                const bool withheld = job.state == JobState::held && job.held_by_admin;
                if (!request.pause && !withheld) {
                    training_[job.id].work = request.work;
                    training_[job.id].restart_known = request.restart_known;
                    elastic.emplace_back(&job, std::move(request.job));
                    continue;
                }
            }
        } catch (const std::invalid_argument& error) {
            round.refused[job.id] = error.what();
        }
        add_fixed(job);
    }
    // Running jobs keep their GPUs. Jobs that were only promised some get them if they are still free.
    for (const bool runs : {true, false})
        for (auto& [job, request] : elastic) {
            if ((job->state == JobState::running) != runs) continue;
            try {
                add_elastic(state, *job, std::move(request));
            } catch (const std::invalid_argument& error) {
                round.refused[job->id] = error.what();
                add_fixed(*job);
            }
        }

    const auto still_there = [&](const std::string& id) {
        return std::any_of(elastic.begin(), elastic.end(),
                           [&](const auto& each) { return each.first->id == id; });
    };
    std::erase_if(training_, [&](const auto& entry) { return !still_there(entry.first); });

    for (const auto& [id, training] : training_)
        if (training.reader.refused() > 0)
            round.refused[id] = "reports: " + goodput::text_of(training.reader.refused()) +
                                " lines make no sense and are left out";

    // Paused and refused jobs have not ended.
    std::erase_if(planned_, [&](const std::string& id) {
        return still_there(id) || std::none_of(state.jobs.begin(), state.jobs.end(),
                                               [&](const Job& job) { return job.id == id; });
    });
    memory_.take_in(snapshot_, news_, planned_);
    const std::vector<goodput::Deadline> asked = deadlines();
    const goodput::Plan& plan = scheduler_.plan(snapshot_, asked);
    memory_.keep(snapshot_, plan);
    planned_.clear();
    for (const auto& each : elastic) planned_.push_back(each.first->id);
    const auto explanations = scheduler_.explain();
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        if (!snapshot_.jobs[j].preemptible) continue;
        const goodput::Decision& decision = plan.decisions[j];
        round.goals[snapshot_.jobs[j].name] = {share_of(decision.placement), decision.option.plan,
                                               explanations[j].report(snapshot_.cluster)};
    }
    for (std::size_t k = 0; k < asked.size(); ++k) {
        const goodput::PromiseAnswer& answer = scheduler_.answers()[k];
        const auto goal = round.goals.find(snapshot_.jobs[asked[k].job].name);
        if (goal == round.goals.end()) continue;
        constexpr const char* words[] = {"kept", "refused: ", "broken: ", "at risk: "};
        goal->second.promise = words[static_cast<int>(answer.promise)] + answer.why;
    }
    round.report = plan.report();
    return round;
}

}  // namespace slurm
