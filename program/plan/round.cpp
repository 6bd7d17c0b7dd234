#include "plan/round.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/availability/restart_cost.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/place/topology.hpp"
#include "json/names.hpp"
#include "plan/samples.hpp"
#include "plan/solver_options.hpp"

namespace cli {

namespace {

constexpr int most_gpus = 1 << 20;
constexpr int most_examples = 1 << 30;
constexpr std::size_t most_gpu_types = 1024;  // of all rounds together, because types are never forgotten

class RoundReader {
public:
    RoundReader(const Field& line, const KnownNames& known) : known_(known) {
        const std::vector<std::string>& gpu_types = known.gpu_types;
        line.knows({"time_s", "nodes", "jobs", "teams", "budget_h", "spot_gpus", "offers", "hour_worth",
                    "cancelled", "gap", "deadline_ms", "most_states", "memory_states", "interval_s",
                    "sharing"});
        cluster().gpu_types = gpu_types;
        for (std::size_t t = 0; t < gpu_types.size(); ++t) types_.emplace(gpu_types[t], t);
        round_.snapshot.time_seconds = line["time_s"].number();
        line["nodes"].for_each([&](const Field& node) { read_node_or_set_it_aside(node); });
        round_.topology = goodput::topology_of(sites_);
        line["budget_h"].into(round_.budget_h, 0);
        line["spot_gpus"].into(round_.spot_gpus, 0);
        if (const Field offers = line["offers"]; offers.given())
            offers.for_each([&](const Field& offer) { read_offer(offer); });
        there_are_ = cluster().gpu_types;
        if (const Field teams = line["teams"]; teams.given())
            for (const auto& [name, team] : teams.fields()) read_team(name, team);
        round_.allot_options = read_solver_options(line);
        line["interval_s"].into(round_.interval_s, 1e-9);
        line["hour_worth"].into(round_.hour_worth, 1e-9);
        if (const Field sharing = line["sharing"]; sharing.given()) {
            if (!sharing.is("time_slicing") && !sharing.is("mps"))
                sharing.refuse("\"time_slicing\" or \"mps\"");
            if (sharing.is("mps")) round_.sharing = goodput::GpuSharing::mps;
        }
        line["jobs"].for_each([&](const Field& job) { read_job_or_set_it_aside(job); });
        line["jobs"].for_each([&](const Field& job) { read_partners_or_leave_them_out(job); });
        if (const Field cancelled = line["cancelled"]; cancelled.given())
            cancelled.for_each([&](const Field& name) { round_.cancelled.push_back(name.text()); });
        const std::vector<char> kept = goodput::kept_nodes(cluster(), round_.snapshot.jobs);
        for (goodput::Job& job : round_.snapshot.jobs) job.types.resize(cluster().gpu_types.size());
        limit_to_domains(std::span(round_.snapshot.jobs), round_.topology, cluster(), kept);
        for (std::size_t j = 0; j < round_.snapshot.jobs.size(); ++j) finish_job(line, j);
        check_pairs();
        warn_of_deadlines();
        goodput::validate(round_.offers, cluster());
    }

    [[nodiscard]] Round take() { return std::move(round_); }

private:
    [[nodiscard]] goodput::Cluster& cluster() { return round_.snapshot.cluster; }

    /// Calls read(). If that throws, warns once per `whom` and returns the warning. Strict warnings throw.
    template <class Read>
    static std::string warning_of(const Field& field, const std::string& whom, Read read) {
        try {
            read();
            return {};
        } catch (const std::invalid_argument& error) {
            const std::string why = goodput::text_in_short_names(error);
            field.warn_of(whom, why);
            return why;
        }
    }

    /// Returns the name of a node or a job, or an empty text if it has none.
    static std::string name_of(const Field& field) {
        return field.is_object() && field["name"].is_text() ? field["name"].text() : std::string();
    }

    /// Accepts no new job on an invalid node. A node without a name of its own is left out.
    void read_node_or_set_it_aside(const Field& field) {
        const std::string name = name_of(field);
        const bool own = !name.empty() && !nodes_.contains(name);
        const std::string why = warning_of(field, "node '" + name + "'", [&] { read_node(field); });
        if (why.empty()) return;
        round_.warnings.push_back(why + (own ? "; it gets no new jobs" : "; it is left out"));
        if (!own) return;
        const Field type = field["gpu_type"];
        goodput::Node node{name, type_of(type.is_text() ? type.text() : "unknown"), 1, true};
        nodes_[name] = cluster().nodes.size();
        set_aside_.insert(name);
        cluster().nodes.push_back(std::move(node));
        sites_.emplace_back();
        round_.node_times.emplace_back();
    }

    /// Lets an invalid job keep what it holds. A job without a name of its own is left out.
    void read_job_or_set_it_aside(const Field& field) {
        const std::string name = name_of(field);
        const bool own = !name.empty() && !jobs_.contains(name);
        const std::string why = warning_of(field, "job '" + name + "'", [&] { read_job(field); });
        if (why.empty()) return;
        if (!own) {
            round_.warnings.push_back(why + "; it is left out");
            return;
        }
        jobs_.insert(name);
        round_.news.emplace_back();
        round_.utilisation.emplace_back();
        round_.snapshot.jobs.push_back(set_aside(name, why, what_it_holds(field)));
    }

    [[nodiscard]] static goodput::Job set_aside(const std::string& name, const std::string& why,
                                                goodput::Placement holds) {
        goodput::Job job{.name = name, .initial_batch = 1, .max_batch = 1};
        job.placement = std::move(holds);
        job.set_aside = why;
        return job;
    }

    /// Returns the job's GPUs, as far as they can be read and their nodes exist.
    [[nodiscard]] goodput::Placement what_it_holds(const Field& job) const {
        goodput::Placement holds;
        const Field placement = job["placement"];
        if (!placement.is_object() || !placement["nodes"].is_array()) return holds;
        placement["nodes"].for_each([&](const Field& share) {
            if (!share.is_array() || share.size() != 2) return;
            const Field name = share[std::size_t{0}], gpus = share[1];
            const auto node = name.is_text() ? nodes_.find(name.text()) : nodes_.end();
            if (node == nodes_.end()) return;
            try {
                holds.push_back({node->second, gpus.count(1, most_gpus)});
            } catch (const std::invalid_argument&) {
                // That is not a number of GPUs either.
            }
        });
        return holds;
    }

    /// Checks what needs all GPU types of the line.
    void finish_job(const Field& line, std::size_t j) {
        goodput::Job& job = round_.snapshot.jobs[j];
        if (!job.set_aside.empty()) return;
        const std::string why = warning_of(line, "job '" + job.name + "'", [&] { validate(job, cluster()); });
        if (why.empty()) return;
        job = set_aside(job.name, why, std::move(job.placement));
        job.types.resize(cluster().gpu_types.size());
        round_.news[j] = {};
    }

    /// Returns the index of a GPU type, which is new if its name is.
    std::size_t type_of(const std::string& name) {
        if (const auto known = types_.find(name); known != types_.end()) return known->second;
        if (cluster().gpu_types.size() == most_gpu_types)
            goodput::bad_input("round", "gpu_type", "'" + name + "'",
                               "one of those of earlier rounds: there are " +
                                   goodput::text_of(most_gpu_types) + " of them already");
        cluster().gpu_types.push_back(name);
        return types_[name] = cluster().gpu_types.size() - 1;
    }

    /// The same for a type that a field names. Warns if no node has it.
    std::size_t type_of(const std::string& name, const Field& field) {
        if (std::find(there_are_.begin(), there_are_.end(), name) == there_are_.end())
            field.warn_of_type(name, "no node is of GPU type \"" + name + "\", in this line or before" +
                                         did_you_mean(name, there_are_));
        return type_of(name);
    }

    static goodput::TypeLimits& limits_of(goodput::Job& job, std::size_t type) {
        if (job.types.size() <= type) job.types.resize(type + 1);
        return job.types[type];
    }

    void read_node(const Field& field) {
        const std::string name = field["name"].text();
        if (name.empty()) field["name"].refuse("a name of its own");
        const std::string subject = "node '" + name + "'";
        const Field about = field.about(subject);
        about.knows({"name", "gpu_type", "gpus", "drained", "cores", "memory_gib", "price_h",
                     "interruptions_h", "spot", "zone", "rack", "from_s", "until_s"});
        if (nodes_.contains(name)) about["name"].refuse("given only once");
        const std::string type = about["gpu_type"].text();
        const int gpus = about["gpus"].count(1, most_gpus);
        goodput::Node node{name, type_of(type), gpus};
        about["drained"].into(node.drained);
        about["cores"].into(node.cores, 0);
        about["memory_gib"].into(node.memory_gib, 0);
        about["price_h"].into(node.dollars_per_hour, 0);
        about["interruptions_h"].into(node.interruptions_per_hour, 0);
        about["spot"].into(node.spot);
        goodput::NodeTimes times;
        about["from_s"].into(times.from_seconds);
        about["until_s"].into(times.until_seconds);
        if (!(times.until_seconds > times.from_seconds))
            about["until_s"].refuse("after from_s, " + goodput::text_of(times.from_seconds));
        goodput::NodeSite site;
        about["zone"].into(site.zone);
        about["rack"].into(site.rack);
        validate(node, cluster(), left_);
        left_ -= gpus;
        nodes_.emplace(name, cluster().nodes.size());
        const double now = round_.snapshot.time_seconds;
        node.drained |= times.from_seconds > now || times.until_seconds <= now;
        node.leaves_seconds = times.until_seconds - now;
        cluster().nodes.push_back(std::move(node));
        sites_.push_back(std::move(site));
        round_.node_times.push_back(times);
    }

    void read_offer(const Field& field) {
        const std::string name = field["name"].text();
        const std::string subject = "offer '" + name + "'";
        const Field about = field.about(subject);
        about.knows({"name", "gpu_type", "gpus", "most", "price_h", "start_s", "interruptions_h", "spot"});
        goodput::RentOffer offer{.name = name, .gpu_type = type_of(about["gpu_type"].text())};
        offer.gpus = about["gpus"].count(1, most_gpus);
        offer.most_nodes = about["most"].count(0, most_gpus);
        offer.dollars_per_hour = about["price_h"].number_at_least(0);
        about["start_s"].into(offer.start_seconds, 0);
        about["interruptions_h"].into(offer.interruptions_per_hour, 0);
        about["spot"].into(offer.spot);
        round_.offers.push_back(std::move(offer));
    }

    void read_job(const Field& field) {
        goodput::Job job;
        job.name = field["name"].text();
        if (job.name.empty()) field["name"].refuse("a name of its own");
        const std::string subject = "job '" + job.name + "'";
        const Field about = field.about(subject);
        about.knows({"name",
                     "submitted_s",
                     "restarts",
                     "restart_cost_s",
                     "restart_s",
                     "checkpoint_gib",
                     "attained_gpu_s",
                     "gpus",
                     "adapt",
                     "batch",
                     "gpus_per_replica",
                     "max_nodes",
                     "single_gpu_accumulates",
                     "within",
                     "gradient",
                     "remaining_examples",
                     "done_examples",
                     "kind",
                     "team",
                     "weight",
                     "host",
                     "checkpoints",
                     "checkpoint_s",
                     "spot_allowed",
                     "preemptible",
                     "restarting",
                     "min_run_s",
                     "placement",
                     "samples",
                     "gpu_utilisation",
                     "shares_with",
                     "with",
                     "deadline_s",
                     "deadline",
                     "promise"});
        if (jobs_.contains(job.name)) about["name"].refuse("given only once");

        job.submitted_seconds = about["submitted_s"].number();
        about["restarts"].into(job.restarts);
        job.restart_cost_seconds = read_restart_cost(about);
        about["attained_gpu_s"].into(job.attained_gpu_seconds, 0);
        const Field gpus = about["gpus"];
        gpus.require_size(2, "a pair [fewest, most]");
        job.min_gpus = gpus[std::size_t{0}].count(1, most_gpus);
        job.max_gpus = gpus[1].count_from(job.min_gpus, "gpus[0]", most_gpus);
        read_adaptivity(about, job);
        goodput::JobNews news;
        news.wanted_batch = read_batch(about["batch"], job);
        if (const Field replicas = about["gpus_per_replica"]; replicas.given())
            for (const auto& [type, stages] : replicas.fields())
                limits_of(job, type_of(type, stages)).gpus_per_replica = stages.count(1, most_gpus);
        read_max_nodes(about["max_nodes"], job);
        if (const Field within = about["within"]; within.given()) {
            if (!within.is("rack") && !within.is("zone")) within.refuse("\"rack\" or \"zone\"");
            job.within = within.text();
        }
        about["single_gpu_accumulates"].into(job.single_gpu_accumulates);
        if (const Field gradient = about["gradient"]; gradient.given())
            job.gradient = read_gradient(gradient, job.initial_batch);
        about["remaining_examples"].into(job.remaining_examples, 0);
        about["done_examples"].into(job.done_examples, 0);
        about["kind"].into(job.kind);
        about["team"].into(job.team);
        about["weight"].into(job.weight, 1e-9);
        if (const auto of_team = weights_.find(job.team); of_team != weights_.end())
            job.weight *= of_team->second;
        if (const Field host = about["host"]; host.given()) job.host = read_host(host);
        if (const Field ways = about["checkpoints"]; ways.given())
            ways.for_each([&](const Field& way) { job.checkpoints.push_back(read_checkpoint(way, job)); });
        about["checkpoint_s"].into(job.checkpoint_seconds, 1e-9);
        about["spot_allowed"].into(job.spot_allowed);
        about["preemptible"].into(job.preemptible);
        about["restarting"].into(job.restarting);
        about["min_run_s"].into(job.minimum_run_seconds, 0);
        if (const Field placement = about["placement"]; placement.given()) read_placement(placement, job);
        if (const Field given = about["samples"]; given.given())
            given.for_each([&](const Field& sample) {
                const std::string name = sample["gpu_type"].text();
                const std::size_t type = type_of(name, sample["gpu_type"]);
                news.samples.push_back(
                    {type, read_sample(sample, subject, limits_of(job, type).gpus_per_replica)});
            });
        JobUtilisation utilisation = read_utilisation(about["gpu_utilisation"]);
        read_deadline(about, job.name);
        round_.utilisation.push_back(std::move(utilisation));
        jobs_.insert(job.name);
        round_.news.push_back(std::move(news));
        round_.snapshot.jobs.push_back(std::move(job));
    }

    void read_deadline(const Field& about, const std::string& name) {
        const Field deadline = about["deadline_s"], refused = about["deadline"], promise = about["promise"];
        const bool or_never = refused.given() && refused.is("or_never");
        if (refused.given() && !or_never) refused.refuse("\"or_never\"");
        // A promise at risk still stands.
        const bool kept = promise.given() && (promise.is("kept") || promise.is("at_risk"));
        if (promise.given() && !kept && !promise.is("refused") && !promise.is("broken"))
            promise.refuse("\"kept\", \"at_risk\", \"refused\" or \"broken\"");
        if (!deadline.given()) {
            if (refused.given() || promise.given())
                deadline.refuse("given together with deadline and promise");
            return;
        }
        round_.deadlines.push_back({round_.snapshot.jobs.size(), deadline.number(), or_never, {}});
        if (kept) round_.promised.push_back(name);
    }

    /// Warns of deadlines that seem to be on another clock. A past deadline is no mistake, and the plan
    /// reports it.
    void warn_of_deadlines() {
        constexpr double ten_years = 3.2e8;
        goodput::NameList before, far;
        for (const goodput::Deadline& deadline : round_.deadlines) {
            const goodput::Job& job = round_.snapshot.jobs[deadline.job];
            if (!job.set_aside.empty()) continue;
            if (deadline.deadline_seconds <= job.submitted_seconds) before.add(job.name);
            if (deadline.deadline_seconds > round_.snapshot.time_seconds + ten_years) far.add(job.name);
        }
        const auto say = [&](const goodput::NameList& jobs, const char* what) {
            if (!jobs.empty()) round_.warnings.push_back(jobs.text("job") + what);
        };
        say(before, ": its deadline_s is not after its submitted_s: is it on the clock of time_s?");
        say(far, ": its deadline_s is more than ten years away: is it in seconds?");
    }

    /// Reads the jobs with which a job may share GPUs, or shares them now. Invalid partners are left out.
    void read_partners_or_leave_them_out(const Field& field) {
        const std::string name = name_of(field);
        if (name.empty() || (!field["shares_with"].given() && !field["with"].given())) return;
        const std::string subject = "job '" + name + "'";
        const Field about = field.about(subject);
        const auto read = [&](const auto& one) {
            if (const std::string why = warning_of(field, subject, one); !why.empty())
                round_.warnings.push_back(why + "; they are no pair");
        };
        if (const Field partners = about["shares_with"]; partners.is_array())
            partners.for_each([&](const Field& partner) { read([&] { read_partner(partner, name); }); });
        else if (partners.given())
            read([&] { partners.refuse("an array"); });
        if (const Field with = about["with"]; with.given())
            read([&] {
                if (const auto pair = pair_of(name, with)) pair->first.together = true;
            });
    }
    /// Marks a pair as sharing only while its jobs hold the same GPUs, which ends if their node is lost.
    void check_pairs() {
        const std::vector<goodput::Job>& jobs = round_.snapshot.jobs;
        for (RoundPair& pair : round_.pairs) {
            if (!pair.together) continue;
            const goodput::Job &first = jobs[pair.jobs[0]], &second = jobs[pair.jobs[1]];
            pair.together = !first.placement.empty() && first.placement == second.placement;
            if (first.placement != second.placement)
                round_.warnings.push_back("jobs '" + first.name + "' and '" + second.name +
                                          "': with says that they share GPUs, but their placements differ; "
                                          "they count as two jobs that run apart");
            // A plan takes a fraction of the own speed of a job that shares its GPUs. Times that include
            // this fraction would count it twice.
            for (const std::size_t j : pair.jobs)
                if (pair.together && !std::exchange(round_.news[j].samples, {}).empty())
                    round_.warnings.push_back("job '" + jobs[j].name +
                                              "': its samples are left out, because it shares "
                                              "its GPUs: send those of a job that runs alone");
        }
    }
    void read_partner(const Field& partner, const std::string& name) {
        partner.knows({"job", "gpus", "rate", "part"});
        const auto pair = pair_of(name, partner["job"]);
        if (!pair) return;
        auto& [known, position] = *pair;
        partner["gpus"].into(known.gpus, 1, most_gpus);
        const auto read = [&, &position = position](const Field& field,
                                                    std::map<std::size_t, std::array<double, 2>>& by_type) {
            if (!field.given()) return;
            for (const auto& [type, both] : field.fields()) {
                both.require_size(2, "a pair [its own, the other's]");
                std::array<double, 2> numbers{};
                numbers[position] = both[std::size_t{0}].number_at_least(0);
                numbers[1 - position] = both[1].number_at_least(0);
                by_type.emplace(type_of(type, both), numbers);
            }
        };
        read(partner["rate"], known.rates);
        read(partner["part"], known.parts);
        known.on_offer = true;
    }
    /// Returns the pair of a job with the job that a field names, and the job's position in it. Warns and
    /// returns nothing if there is no such job.
    std::optional<std::pair<RoundPair&, std::size_t>> pair_of(const std::string& name, const Field& other) {
        const std::string partner = other.text();
        const std::vector<goodput::Job>& jobs = round_.snapshot.jobs;
        const auto index_of = [&](const std::string& job_name) {
            const auto at = std::ranges::find(jobs, job_name, &goodput::Job::name);
            return static_cast<std::size_t>(at - jobs.begin());
        };
        const std::size_t own_index = index_of(name), partner_index = index_of(partner);
        if (partner_index == jobs.size()) {
            std::vector<std::string> names;
            for (const goodput::Job& job : jobs)
                if (job.name != name) names.push_back(job.name);
            if (without_partner_.insert({name, partner}).second)
                other.warn(partner, "it cannot share GPUs with job '" + partner +
                                        "', which is not in this line" + did_you_mean(partner, names));
            return std::nullopt;
        }
        if (own_index == partner_index) other.refuse("another job");
        for (RoundPair& known : round_.pairs)
            for (std::size_t i = 0; i < 2; ++i)
                if (known.jobs[i] == own_index && known.jobs[1 - i] == partner_index) return {{known, i}};
        return {{round_.pairs.emplace_back(RoundPair{.jobs = {own_index, partner_index}}), 0}};
    }

    void read_team(const std::string& name, const Field& field) {
        const std::string subject = "team '" + name + "'";
        if (name.empty()) goodput::bad_input("round", "teams", "a team without a name", "named teams");
        if (!field.is_object()) field.refuse("an object");
        const Field about = field.about(subject);
        about.knows({"gpus", "gpus_by_type", "budget_h", "spot_gpus", "weight"});
        goodput::TeamQuota quota{.team = name};
        about["gpus"].into(quota.gpus, 0);
        if (const Field types = about["gpus_by_type"]; types.given())
            for (const auto& [type, gpus] : types.fields()) {
                const std::size_t index = type_of(type, gpus);
                quota.of_type.resize(std::max(quota.of_type.size(), index + 1));
                quota.of_type[index] = gpus.number_at_least(0);
            }
        about["budget_h"].into(quota.dollars_per_hour, 0);
        about["spot_gpus"].into(quota.spot_gpus, 0);
        if (const Field weight = about["weight"]; weight.given())
            weights_[name] = weight.number_at_least(1e-9);
        round_.teams.push_back(std::move(quota));
    }

    /// Returns a number from 0 to `most`.
    static double number_up_to(double most, const Field& field) {
        const double number = field.number();
        if (!(number >= 0 && number <= most)) field.refuse("a number from 0 to " + goodput::text_of(most));
        return number;
    }

    /// Returns what the line says of a restart's cost, or else the estimate from reported starts and size.
    static double read_restart_cost(const Field& about) {
        goodput::RestartReports reports;
        if (const Field starts = about["restart_s"]; starts.given())
            starts.for_each([&](const Field& start) {
                reports.start_seconds.push_back(number_up_to(goodput::most_start_seconds, start));
            });
        if (const Field size = about["checkpoint_gib"]; size.given())
            reports.checkpoint_gib = number_up_to(goodput::most_checkpoint_gib, size);
        const Field known = about["restart_cost_s"];
        return known.given() ? known.number_at_least(0) : estimated_restart_seconds(reports);
    }

    /// Without a time to restore, a mechanism restores at the cost of any restart.
    static goodput::CheckpointMechanism read_checkpoint(const Field& way, const goodput::Job& job) {
        way.knows({"name", "pause_s", "write_s", "write_slowdown", "restore_s", "caught",
                   "memory_gib_per_gpu", "kept", "stored_every", "saves"});
        goodput::CheckpointMechanism mechanism{.name = way["name"].text(),
                                               .restore_seconds = job.restart_cost_seconds};
        way["pause_s"].into(mechanism.pause_seconds, 0);
        way["write_s"].into(mechanism.write_seconds, 0);
        way["write_slowdown"].into(mechanism.write_slowdown, 0);
        way["restore_s"].into(mechanism.restore_seconds, 0);
        way["caught"].into(mechanism.caught, 0);
        way["memory_gib_per_gpu"].into(mechanism.memory_gib_per_gpu, 0);
        way["kept"].into(mechanism.kept, 0);
        way["stored_every"].into(mechanism.stored_every, 1, goodput::most_stored_every);
        way["saves"].into(mechanism.saves);
        return mechanism;
    }

    static goodput::HostNeeds read_host(const Field& host) {
        host.knows({"cores_per_gpu", "memory_gib_per_gpu", "speed"});
        goodput::HostNeeds needs;
        const auto range = [&](const Field& pair, void (goodput::HostShare::*set)(double)) {
            if (!pair.given()) return;
            pair.require_size(2, "a pair [least, most]");
            const double least = pair[std::size_t{0}].number_at_least(0);
            (needs.least.*set)(least);
            (needs.most.*set)(pair[1].number_at_least(least));
        };
        range(host["cores_per_gpu"], &goodput::HostShare::set_cores);
        range(host["memory_gib_per_gpu"], &goodput::HostShare::set_memory);
        if (const Field speed = host["speed"]; speed.given())
            speed.for_each([&](const Field& point) {
                point.require_size(3, "three numbers [cores, memory_gib, factor]");
                needs.speed.push_back({point[std::size_t{0}].number_at_least(0), point[1].number_at_least(0),
                                       point[2].number_at_least(0)});
            });
        return needs;
    }

    static void read_adaptivity(const Field& about, goodput::Job& job) {
        const Field adapt = about["adapt"];
        if (!adapt.given() || adapt.is("batch"))
            job.adaptivity = goodput::Adaptivity::batch;
        else if (adapt.is("gpus"))
            job.adaptivity = goodput::Adaptivity::gpus;
        else if (adapt.is("none"))
            job.adaptivity = goodput::Adaptivity::none;
        else
            adapt.refuse("\"batch\", \"gpus\" or \"none\"");
    }

    /// Reads the batch. Returns the largest batch that the owner wants.
    std::optional<int> read_batch(const Field& batch, goodput::Job& job) {
        batch.knows({"initial", "max", "wanted", "target", "local", "rate"});
        const bool tuned = job.adaptivity == goodput::Adaptivity::batch;
        job.initial_batch = batch["initial"].count(1, most_examples);
        if (const Field most = batch["max"]; tuned || most.given())
            job.max_batch = most.count_from(tuned ? job.initial_batch : 1,
                                            tuned ? "batch.initial" : "one example", most_examples);
        std::optional<int> wanted;
        if (const Field owners = batch["wanted"]; owners.given())
            wanted = owners.count_from(job.initial_batch, "batch.initial", most_examples);
        if (const Field target = batch["target"]; !tuned || target.given())
            job.target_batch = target.count(1, most_examples);
        for (const auto& [type, range] : batch["local"].fields()) {
            range.require_size(2, "a pair [least, most]");
            goodput::TypeLimits& limits = limits_of(job, type_of(type, range));
            limits.min_atomic_batch = range[std::size_t{0}].count(1, most_examples);
            limits.max_atomic_batch =
                range[1].count_from(limits.min_atomic_batch, "the first number", most_examples);
        }
        if (const Field rates = batch["rate"]; rates.given())
            for (const auto& [type, rate] : rates.fields())
                limits_of(job, type_of(type, rate)).reference_rate = rate.number_at_least(0);
        return wanted;
    }

    /// Reads a number of nodes, or one for each GPU type.
    void read_max_nodes(const Field& field, goodput::Job& job) {
        if (!field.given()) return;
        if (!field.is_object()) {
            const int most = field.count(1, most_gpus);
            for (goodput::TypeLimits& limits : job.types) limits.max_nodes = most;
            return;
        }
        for (const auto& [type, most] : field.fields())
            limits_of(job, type_of(type, most)).max_nodes = most.count(1, most_gpus);
    }

    /// Reads how busy the job keeps its GPUs alone: a number, or one for each GPU type.
    JobUtilisation read_utilisation(const Field& field) {
        JobUtilisation utilisation;
        if (!field.given()) return utilisation;
        if (!field.is_object())
            utilisation.everywhere = number_up_to(1, field);
        else
            for (const auto& [type, busy] : field.fields())
                utilisation.by_type.emplace(type_of(type, busy), number_up_to(1, busy));
        return utilisation;
    }

    /// Reads where the job runs. A job that has lost a node holds nothing any more, unless it may not be
    /// stopped.
    void read_placement(const Field& placement, goodput::Job& job) {
        placement.knows({"nodes"});
        bool lost = false;
        const Field nodes = placement["nodes"];
        nodes.for_each([&](const Field& share) {
            share.require_size(2, "a pair [node, GPUs]");
            const std::string name = share[std::size_t{0}].text();
            const int gpus = share[1].count(1, most_gpus);
            const auto node = nodes_.find(name);
            if (node == nodes_.end()) {
                if (!job.preemptible)
                    share[std::size_t{0}].refuse("among the nodes, as the job is not preemptible");
                if (!known_.nodes.contains(name))
                    share[std::size_t{0}].warn(
                        name, "placement names node '" + name +
                                  "', which neither this line nor the one before has, so the job counts as "
                                  "stopped; where it runs, it may be started twice");
                lost = true;
                return;
            }
            if (set_aside_.contains(name))
                share[std::size_t{0}].refuse("a node that makes sense: it is set aside");
            if (gpus > cluster().nodes[node->second].gpus)
                share[1].refuse("at most the node's GPUs, " +
                                goodput::text_of(cluster().nodes[node->second].gpus));
            job.placement.push_back({node->second, gpus});
        });
        std::sort(job.placement.begin(), job.placement.end());
        for (std::size_t i = 1; i < job.placement.size(); ++i)
            if (job.placement[i].node == job.placement[i - 1].node)
                goodput::bad_input("job '" + job.name + "'", "placement.nodes",
                                   "'" + cluster().nodes[job.placement[i].node].name + "' twice",
                                   "each node once");
        if (lost) job.placement.clear();
    }

    const KnownNames& known_;
    Round round_;
    std::map<std::string, std::size_t> types_;
    std::vector<std::string> there_are_;  ///< GPU types of the nodes and offers of this line or earlier ones
    std::map<std::string, std::size_t> nodes_;
    std::set<std::pair<std::string, std::string>> without_partner_;  ///< a job, and a partner that does not
                                                                     ///< exist
    std::vector<goodput::NodeSite> sites_;                           ///< by node
    std::set<std::string> jobs_;
    std::map<std::string, double> weights_;  ///< by team
    std::set<std::string> set_aside_;        ///< nodes that are set aside
    int left_ = goodput::most_gpus_of_cluster;
};

}  // namespace

Round read_round(const Json& document, const KnownNames& known, Warnings& warnings) {
    return RoundReader(Field(document, "round", &warnings), known).take();
}

}  // namespace cli
