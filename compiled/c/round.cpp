// Reads the round of the C interface.

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "goodput/model/job_model.hpp"
#include "goodput/place/topology.hpp"
#include "round.hpp"
#include "support.hpp"

namespace goodput::c {

namespace {

constexpr std::size_t most_gpu_types = 1024;

std::string text_or_none(const char* text) { return text ? std::string(text) : std::string(); }

/// The element's index among the arrays of the round, for sentences about elements without a name.
std::string element(const char* array, std::size_t index) {
    return std::string(array) + "[" + text_of(index) + "]";
}

/// Amounts that are 0 are none, unless they are said to be given.
HostShare host_share(double cores, double memory, bool cores_given, bool memory_given) {
    HostShare share{cores, memory};
    if (cores_given) share.set_cores(cores);
    if (memory_given) share.set_memory(memory);
    return share;
}

class RoundReader {
public:
    RoundReader(const goodput_round& round, const std::vector<std::string>& known) : round_(round) {
        require_flags("round", round.flags,
                      GOODPUT_ROUND_HAS_BUDGET | GOODPUT_ROUND_HAS_SPOT_GPUS | GOODPUT_ROUND_SETS_ASIDE);
        input_.snapshot.strict = (round.flags & GOODPUT_ROUND_SETS_ASIDE) == 0;
        input_.snapshot.time_seconds = round.time_s;
        if (!std::isfinite(round.time_s)) bad_input("round", "time_s", round.time_s, "finite");
        read_gpu_types(known);
        read_nodes();
        read_teams();
        if (round.flags & GOODPUT_ROUND_HAS_BUDGET) {
            require_at_least("round", "budget_h", round.budget_h, 0);
            input_.budget_h = round.budget_h;
        }
        if (round.flags & GOODPUT_ROUND_HAS_SPOT_GPUS) {
            require_at_least("round", "spot_gpus", round.spot_gpus, 0);
            input_.spot_gpus = round.spot_gpus;
        }
        read_jobs();
        read_limits();
        read_host_speeds();
        read_held();
        read_checkpoints();
        for (Job& job : jobs()) of_job(job, [&] { validate(job, cluster()); });
        keep_within_domains();
        read_models();
        read_samples();
        for (std::size_t j = 0; j < jobs().size(); ++j) {
            if (jobs()[j].set_aside.empty()) continue;
            input_.news[j] = {};
            input_.snapshot.models[j] = {};
        }
        require_at_least("round", "deadline_ms", round.deadline_ms, 0);
        if (round.deadline_ms > 0) input_.deadline_ms = round.deadline_ms;
        if (round.cancelled_count > 0) require_given(round.cancelled, "round", "cancelled");
        for (std::size_t i = 0; i < round.cancelled_count; ++i) {
            require_given(round.cancelled[i], "round", element("cancelled", i));
            input_.cancelled.emplace_back(round.cancelled[i]);
        }
    }

    [[nodiscard]] RoundInput take() { return std::move(input_); }

private:
    [[nodiscard]] Cluster& cluster() { return input_.snapshot.cluster; }
    [[nodiscard]] std::vector<Job>& jobs() { return input_.snapshot.jobs; }
    [[nodiscard]] std::size_t types() { return cluster().gpu_types.size(); }

    /// Reads something of a job. What that refuses sets the job aside, unless it refuses the round.
    template <class Read>
    void of_job(Job& job, Read read) {
        if (!job.set_aside.empty()) return;
        try {
            read();
        } catch (const std::invalid_argument& error) {
            if (input_.snapshot.strict) throw;
            job.set_aside = text_in_short_names(error);
        }
    }

    void require_index(const std::string& subject, const char* field, std::size_t index, std::size_t count,
                       const char* of) {
        if (index >= count)
            bad_input(subject, field, index,
                      "below the number of " + std::string(of) + ", " + text_of(count));
    }

    void read_gpu_types(const std::vector<std::string>& known) {
        if (round_.gpu_type_count > most_gpu_types)
            bad_input("round", "gpu_type_count", round_.gpu_type_count, "at most " + text_of(most_gpu_types));
        if (round_.gpu_type_count < known.size())
            bad_input("round", "gpu_type_count", round_.gpu_type_count,
                      "at least " + text_of(known.size()) + ", as in earlier rounds");
        if (round_.gpu_type_count > 0) require_given(round_.gpu_type, "round", "gpu_type");
        for (std::size_t t = 0; t < round_.gpu_type_count; ++t) {
            const std::string field = element("gpu_type", t);
            require_given(round_.gpu_type[t], "round", field);
            std::string name = round_.gpu_type[t];
            if (t < known.size() && name != known[t])
                bad_input("round", field, "'" + name + "'", "'" + known[t] + "', as in earlier rounds");
            if (std::find(cluster().gpu_types.begin(), cluster().gpu_types.end(), name) !=
                cluster().gpu_types.end())
                bad_input("round", field, "'" + name + "' again", "a name of its own");
            cluster().gpu_types.push_back(std::move(name));
        }
    }

    void read_nodes() {
        const Elements<goodput_node> nodes(round_.node, round_.node_count, round_.node_size, "node");
        std::vector<NodeSite> sites;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const goodput_node from = nodes[n];
            require_given(from.name, element("node", n), "name");
            Node node{from.name, from.gpu_type, from.gpus, (from.flags & GOODPUT_NODE_DRAINED) != 0};
            const std::string subject = "node '" + node.name + "'";
            try {
                require_flags(subject, from.flags, GOODPUT_NODE_DRAINED | GOODPUT_NODE_SPOT);
                require_at_least(subject, "price_h", from.price_h, 0);
                require_at_least(subject, "interruptions_h", from.interruptions_h, 0);
            } catch (const std::invalid_argument& error) {
                if (input_.snapshot.strict) throw;
                // Who holds something there may keep it.
                input_.warnings.push_back(text_in_short_names(error) + "; nobody new comes to it");
                node.drained = true;
                cluster().nodes.push_back(std::move(node));
                sites.emplace_back();
                continue;
            }
            node.cores = from.cores;
            node.memory_gib = from.memory_gib;
            node.dollars_per_hour = from.price_h;
            node.interruptions_per_hour = from.interruptions_h;
            node.spot = (from.flags & GOODPUT_NODE_SPOT) != 0;
            cluster().nodes.push_back(std::move(node));
            sites.push_back({text_or_none(from.zone), text_or_none(from.rack)});
        }
        if (input_.snapshot.strict) validate(cluster());
        input_.topology = topology_of(sites);
    }

    void read_teams() {
        const Elements<goodput_team> teams(round_.team, round_.team_count, round_.team_size, "team");
        for (std::size_t i = 0; i < teams.size(); ++i) {
            const goodput_team from = teams[i];
            require_given(from.name, element("team", i), "name");
            TeamQuota quota{.team = from.name};
            const std::string subject = "team '" + quota.team + "'";
            require_flags(subject, from.flags,
                          GOODPUT_TEAM_HAS_GPUS | GOODPUT_TEAM_HAS_BUDGET | GOODPUT_TEAM_HAS_SPOT_GPUS);
            const auto given = [&](std::uint32_t flag, const char* field, double amount) {
                std::optional<double> limit;
                if ((from.flags & flag) == 0) return limit;
                require_at_least(subject, field, amount, 0);
                limit = amount;
                return limit;
            };
            quota.gpus = given(GOODPUT_TEAM_HAS_GPUS, "gpus", from.gpus);
            quota.dollars_per_hour = given(GOODPUT_TEAM_HAS_BUDGET, "budget_h", from.budget_h);
            quota.spot_gpus = given(GOODPUT_TEAM_HAS_SPOT_GPUS, "spot_gpus", from.spot_gpus);
            if (from.weight != 0) {
                require_at_least(subject, "weight", from.weight, 1e-9);
                weights_[quota.team] = from.weight;
            }
            input_.teams.push_back(std::move(quota));
        }
        const Elements<goodput_team_quota> quotas(round_.team_quota, round_.team_quota_count,
                                                  round_.team_quota_size, "team_quota");
        for (std::size_t i = 0; i < quotas.size(); ++i) {
            const goodput_team_quota from = quotas[i];
            const std::string subject = element("team_quota", i);
            require_index(subject, "team", from.team, input_.teams.size(), "teams");
            require_index(subject, "gpu_type", from.gpu_type, types(), "GPU types");
            require_at_least(subject, "gpus", from.gpus, 0);
            auto& of_type = input_.teams[from.team].of_type;
            of_type.resize(std::max(of_type.size(), from.gpu_type + 1));
            of_type[from.gpu_type] = from.gpus;
        }
    }

    void read_jobs() {
        const Elements<goodput_job> from(round_.job, round_.job_count, round_.job_size, "job");
        std::set<std::string> names;
        for (std::size_t j = 0; j < from.size(); ++j) {
            require_given(from[j].name, element("job", j), "name");
            Job& job = jobs().emplace_back(Job{.name = from[j].name});
            job.types.resize(types());
            of_job(job, [&] {
                read_job(from[j], job);
                if (!names.insert(job.name).second)
                    bad_input("job '" + job.name + "'", "name", "given twice", "a name of its own");
            });
        }
        input_.news.resize(jobs().size());
        input_.snapshot.models.resize(jobs().size());
        for (std::size_t j = 0; j < from.size(); ++j)
            if (from[j].wanted_batch != 0 && jobs()[j].set_aside.empty())
                input_.news[j].wanted_batch = from[j].wanted_batch;
    }

    void read_job(const goodput_job& from, Job& job) {
        job.kind = text_or_none(from.kind);
        const std::string subject = "job '" + job.name + "'";
        require_flags(subject, from.flags, 2 * GOODPUT_JOB_COUNTS_MEMORY - 1);
        if (!std::isfinite(from.submitted_s)) bad_input(subject, "submitted_s", from.submitted_s, "finite");
        require_at_least(subject, "restart_cost_s", from.restart_cost_s, 0);
        require_at_least(subject, "attained_gpu_s", from.attained_gpu_s, 0);
        job.submitted_seconds = from.submitted_s;
        job.restarts = from.restarts;
        job.restart_cost_seconds = from.restart_cost_s;
        job.attained_gpu_seconds = from.attained_gpu_s;
        job.min_gpus = from.min_gpus == 0 ? 1 : from.min_gpus;
        job.max_gpus = from.max_gpus == 0 ? job.min_gpus : from.max_gpus;
        switch (from.adapt) {
            case GOODPUT_ADAPT_BATCH:
                job.adaptivity = Adaptivity::batch;
                break;
            case GOODPUT_ADAPT_GPUS:
                job.adaptivity = Adaptivity::gpus;
                break;
            case GOODPUT_ADAPT_NONE:
                job.adaptivity = Adaptivity::none;
                break;
            default:
                bad_input(subject, "adapt", from.adapt, "GOODPUT_ADAPT_BATCH, _GPUS or _NONE");
        }
        job.initial_batch = from.initial_batch;
        job.max_batch = from.max_batch;
        job.target_batch = from.target_batch;
        job.single_gpu_accumulates = (from.flags & GOODPUT_JOB_SINGLE_GPU_ACCUMULATES) != 0;
        if (from.flags & GOODPUT_JOB_HAS_GRADIENT)
            job.gradient = GradientStatistics{from.gradient_sqr, from.gradient_var};
        job.preemptible = (from.flags & GOODPUT_JOB_NOT_PREEMPTIBLE) == 0;
        job.restarting = (from.flags & GOODPUT_JOB_RESTARTING) != 0;
        job.spot_allowed = (from.flags & GOODPUT_JOB_NOT_ON_SPOT) == 0;
        if (from.flags & GOODPUT_JOB_HAS_REMAINING) job.remaining_examples = from.remaining_examples;
        if (from.flags & GOODPUT_JOB_HAS_DONE) job.done_examples = from.done_examples;
        if (from.flags & GOODPUT_JOB_HAS_CHECKPOINT) {
            require_positive(subject, "checkpoint_s", from.checkpoint_s);
            job.checkpoint_seconds = from.checkpoint_s;
        }
        job.team = text_or_none(from.team);
        if (from.weight != 0) {
            require_at_least(subject, "weight", from.weight, 1e-9);
            job.weight = from.weight;
        }
        if (const auto of_team = weights_.find(job.team); of_team != weights_.end())
            job.weight *= of_team->second;
        if (from.flags & GOODPUT_JOB_HAS_HOST) {
            const auto share = [&](double cores, double memory) {
                return host_share(cores, memory, (from.flags & GOODPUT_JOB_COUNTS_CORES) != 0,
                                  (from.flags & GOODPUT_JOB_COUNTS_MEMORY) != 0);
            };
            job.host = HostNeeds{.least = share(from.least_cores_per_gpu, from.least_memory_gib_per_gpu),
                                 .most = share(from.most_cores_per_gpu, from.most_memory_gib_per_gpu)};
        }
        job.within = text_or_none(from.within);
        if (!job.within.empty() && job.within != "rack" && job.within != "zone")
            bad_input(subject, "within", "'" + job.within + "'", "\"rack\" or \"zone\"");
        if (from.wanted_batch != 0)
            require_between(subject, "wanted_batch", from.wanted_batch, from.initial_batch, 1 << 30);
    }

    void read_checkpoints() {
        const Elements<goodput_checkpoint> ways(round_.checkpoint, round_.checkpoint_count,
                                                round_.checkpoint_size, "checkpoint");
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const goodput_checkpoint from = ways[i];
            const std::string subject = element("checkpoint", i);
            require_index(subject, "job", from.job, jobs().size(), "jobs");
            require_given(from.name, subject, "name");
            Job& job = jobs()[from.job];
            of_job(job, [&] {
                require_flags(subject, from.flags, 2 * GOODPUT_CHECKPOINT_SAVES_NOTHING - 1);
                job.checkpoints.push_back({.name = from.name,
                                           .pause_seconds = from.pause_s,
                                           .write_seconds = from.write_s,
                                           .write_slowdown = from.write_slowdown,
                                           .restore_seconds = from.flags & GOODPUT_CHECKPOINT_HAS_RESTORE
                                                                  ? from.restore_s
                                                                  : job.restart_cost_seconds,
                                           .caught = from.caught,
                                           .memory_gib_per_gpu = from.memory_gib_per_gpu,
                                           .saves = (from.flags & GOODPUT_CHECKPOINT_SAVES_NOTHING) == 0,
                                           .kept = from.flags & GOODPUT_CHECKPOINT_HAS_KEPT ? from.kept : 1,
                                           .stored_every = from.stored_every == 0 ? 1 : from.stored_every});
            });
        }
    }

    /// After what jobs hold is known.
    void keep_within_domains() {
        const std::vector<char> kept = kept_nodes(cluster(), jobs());
        limit_to_domains(std::span(jobs()), input_.topology, cluster(), kept);
    }

    void read_limits() {
        const std::size_t wanted = jobs().size() * types();
        if (round_.limits_count != wanted)
            bad_input("round", "limits_count", round_.limits_count,
                      text_of(wanted) + ", one for each job and GPU type");
        const Elements<goodput_type_limits> limits(round_.limits, round_.limits_count, round_.limits_size,
                                                   "limits");
        for (std::size_t i = 0; i < limits.size(); ++i) {
            Job& job = jobs()[i / types()];
            of_job(job, [&] { read_limit(limits[i], job, i % types()); });
        }
    }

    void read_limit(const goodput_type_limits& from, Job& job, std::size_t on) {
        const auto subject = [&] { return "job '" + job.name + "' on " + cluster().gpu_types[on]; };
        require_between(subject, "min_local_batch", from.min_local_batch, 0, 1 << 30);
        require_between(subject, "max_local_batch", from.max_local_batch,
                        from.max_local_batch == 0 ? 0 : from.min_local_batch, 1 << 30);
        require_between(subject, "gpus_per_replica", from.gpus_per_replica, 0, 1 << 20);
        require_at_least(subject, "rate", from.rate, 0);
        TypeLimits& type = job.types[on];
        if (from.min_local_batch != 0) type.min_atomic_batch = from.min_local_batch;
        type.max_atomic_batch = from.max_local_batch;
        if (from.gpus_per_replica != 0) type.gpus_per_replica = from.gpus_per_replica;
        if (from.max_nodes != 0) type.max_nodes = from.max_nodes;
        type.reference_rate = from.rate;
    }

    void read_host_speeds() {
        const Elements<goodput_host_speed> speeds(round_.host_speed, round_.host_speed_count,
                                                  round_.host_speed_size, "host_speed");
        for (std::size_t i = 0; i < speeds.size(); ++i) {
            const goodput_host_speed from = speeds[i];
            require_index(element("host_speed", i), "job", from.job, jobs().size(), "jobs");
            Job& job = jobs()[from.job];
            of_job(job, [&] {
                if (!job.host)
                    bad_input("job '" + job.name + "'", element("host_speed", i), "given",
                              "of a job with GOODPUT_JOB_HAS_HOST");
                job.host->speed.push_back({from.cores_per_gpu, from.memory_gib_per_gpu, from.factor});
            });
        }
    }

    void read_held() {
        const Elements<goodput_share> held(round_.held, round_.held_count, round_.held_size, "held");
        for (std::size_t i = 0; i < held.size(); ++i) {
            const goodput_share from = held[i];
            const std::string subject = element("held", i);
            require_index(subject, "job", from.job, jobs().size(), "jobs");
            of_job(jobs()[from.job],
                   [&] { require_index(subject, "node", from.node, cluster().nodes.size(), "nodes"); });
            if (from.node < cluster().nodes.size())
                jobs()[from.job].placement.push_back({from.node, from.gpus});
        }
        for (Job& job : jobs()) {
            std::sort(job.placement.begin(), job.placement.end());
            of_job(job, [&] {
                for (std::size_t i = 1; i < job.placement.size(); ++i)
                    if (job.placement[i].node == job.placement[i - 1].node)
                        bad_input("job '" + job.name + "'", "held",
                                  "'" + cluster().nodes[job.placement[i].node].name + "' twice",
                                  "each node once");
            });
        }
    }

    void read_models() {
        const Elements<goodput_speed_model> models(round_.model, round_.model_count, round_.model_size,
                                                   "model");
        for (std::size_t i = 0; i < models.size(); ++i) {
            const goodput_speed_model from = models[i];
            require_index(element("model", i), "job", from.job, jobs().size(), "jobs");
            require_index(element("model", i), "gpu_type", from.gpu_type, types(), "GPU types");
            of_job(jobs()[from.job], [&] { read_model(from, i); });
        }
    }

    void read_model(const goodput_speed_model& from, std::size_t i) {
        JobModel& model = input_.snapshot.models[from.job];
        model.types.resize(types());
        TypeModel& type = model.types[from.gpu_type];
        if (type.most_replicas > 0)
            bad_input("job '" + jobs()[from.job].name + "'", element("model", i),
                      "of " + cluster().gpu_types[from.gpu_type] + " again", "one for each GPU type");
        type.throughput = PolluxThroughput{.alpha_c = from.alpha_c,
                                           .beta_c = from.beta_c,
                                           .alpha_n = from.alpha_n,
                                           .beta_n = from.beta_n,
                                           .alpha_r = from.alpha_r,
                                           .beta_r = from.beta_r,
                                           .gamma = from.gamma};
        const std::string subject = "job '" + jobs()[from.job].name + "'";
        require_between(subject, "model.most_replicas", from.most_replicas, 0, 1 << 20);
        type.most_replicas = std::max(from.most_replicas, 1);
        validate(type, subject + " on " + cluster().gpu_types[from.gpu_type]);
        input_.news[from.job].brings_model = true;
    }

    void read_samples() {
        const Elements<goodput_sample> samples(round_.sample, round_.sample_count, round_.sample_size,
                                               "sample");
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const goodput_sample from = samples[i];
            require_index(element("sample", i), "job", from.job, jobs().size(), "jobs");
            Job& job = jobs()[from.job];
            of_job(job, [&] {
                const std::string subject = "job '" + job.name + "'";
                require_index(subject, "samples.gpu_type", from.gpu_type, types(), "GPU types");
                input_.news[from.job].samples.push_back(
                    {from.gpu_type, sample_of(from, subject, job.types[from.gpu_type].gpus_per_replica)});
            });
        }
    }

    const goodput_round& round_;
    RoundInput input_;
    std::map<std::string, double> weights_;  ///< by team
};

}  // namespace

ThroughputSample sample_of(const goodput_sample& from, const std::string& subject, int gpus_per_replica) {
    require_flags(subject + " samples", from.flags, 2 * GOODPUT_SAMPLE_COUNTS_MEMORY - 1);
    ThroughputSample sample{.shape = {from.nodes, from.gpus},
                            .plan = {from.local_batch, from.accumulation},
                            .step_seconds = from.step_s,
                            .sync_seconds = std::max(from.sync_s, 0.0),
                            .host = host_share(from.cores_per_gpu, from.memory_gib_per_gpu,
                                               (from.flags & GOODPUT_SAMPLE_COUNTS_CORES) != 0,
                                               (from.flags & GOODPUT_SAMPLE_COUNTS_MEMORY) != 0),
                            .sync_known = !(from.sync_s < 0),
                            .whole_iteration = (from.flags & GOODPUT_SAMPLE_WHOLE_ITERATION) != 0};
    validate(sample, subject);
    if (sample.shape.gpus % gpus_per_replica != 0)
        bad_input(subject, "sample.shape.gpus", sample.shape.gpus,
                  "a multiple of gpus_per_replica, " + text_of(gpus_per_replica));
    sample.shape.gpus /= gpus_per_replica;
    sample.shape.nodes = std::min(sample.shape.nodes, sample.shape.gpus);
    return sample;
}

std::vector<RentOffer> read_offers(const goodput_rent_question& question, const Cluster& cluster) {
    const Elements<goodput_offer> from(question.offer, question.offer_count, question.offer_size, "offer");
    std::vector<RentOffer> offers;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const goodput_offer each = from[i];
        require_given(each.name, element("offer", i), "name");
        RentOffer& offer = offers.emplace_back(RentOffer{.name = each.name, .gpu_type = each.gpu_type});
        require_flags("offer '" + offer.name + "'", each.flags, 2 * GOODPUT_OFFER_HAS_START - 1);
        offer.gpus = each.gpus;
        offer.dollars_per_hour = each.price_h;
        offer.most_nodes = each.most;
        if (each.flags & GOODPUT_OFFER_HAS_START) offer.start_seconds = each.start_s;
        offer.spot = (each.flags & GOODPUT_OFFER_SPOT) != 0;
        offer.interruptions_per_hour = each.interruptions_h;
    }
    validate(offers, cluster);
    return offers;
}

RoundInput read_round(const goodput_round& round, const std::vector<std::string>& gpu_types) {
    return RoundReader(round, gpu_types).take();
}

}  // namespace goodput::c
