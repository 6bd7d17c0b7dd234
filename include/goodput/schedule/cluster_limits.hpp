#ifndef GOODPUT_SCHEDULE_CLUSTER_LIMITS_HPP
#define GOODPUT_SCHEDULE_CLUSTER_LIMITS_HPP

// Limits on what all jobs together take: dollars, watts, licences, spot GPUs.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput {

namespace detail {

/// More unknown names than this are not compared with the known ones.
inline constexpr std::size_t most_names = 64;

/// By pool of the round, the mean of a node's `amount` a GPU, over all its nodes, drained ones too.
inline std::vector<double> mean_per_gpu(const Round& round, double Node::*amount) {
    std::vector<double> sum(round.pools.size(), 0), gpus(round.pools.size(), 0);
    for (const Node& node : round.cluster.nodes) {
        const std::size_t pool = find_pool(round.pools, node);
        sum[pool] += node.*amount;
        gpus[pool] += node.gpus;
    }
    for (std::size_t pool = 0; pool < sum.size(); ++pool)
        if (gpus[pool] > 0) sum[pool] /= gpus[pool];
    return sum;
}

/// What a configuration takes where each GPU that it occupies takes so much, by pool.
inline double total_of(const Configuration& configuration, const Round& round,
                       std::span<const double> per_gpu) {
    double total = 0;
    for (const PoolShare& part : configuration.parts())
        total += part.occupied_gpus() * per_gpu[find_pool(round.pools, part)];
    return total;
}

/// Spot GPUs that a configuration occupies.
inline int spot_gpus_of(const Configuration& configuration) {
    int gpus = 0;
    for (const PoolShare& part : configuration.parts()) gpus += part.spot ? part.occupied_gpus() : 0;
    return gpus;
}

/// Warns of nodes that dollars do not count: all of them, or some whose like have a price.
inline void warn_of_prices(const Cluster& cluster, const std::string& budget,
                           std::vector<std::string>& warnings) {
    const auto is_priced = [](const Node& node) { return node.dollars_per_hour > 0; };
    if (cluster.nodes.empty()) return;
    if (std::none_of(cluster.nodes.begin(), cluster.nodes.end(), is_priced)) {
        warnings.push_back(budget + ": no node has a price, so it limits nothing");
        return;
    }
    std::vector<PoolId> priced;
    for (const Node& node : cluster.nodes)
        if (const PoolId kind{node.gpu_type, node.gpus, node.spot};
            is_priced(node) && std::find(priced.begin(), priced.end(), kind) == priced.end())
            priced.push_back(kind);
    Whom free;
    for (const Node& node : cluster.nodes)
        if (!is_priced(node) && std::find(priced.begin(), priced.end(),
                                          PoolId{node.gpu_type, node.gpus, node.spot}) != priced.end())
            free.add(node.name);
    if (!free.empty())
        warnings.push_back(free.text("node") + ": no price, although others of the kind have one, so " +
                           budget + " does not count it");
}

/// Warns of a limit on spot GPUs where no node is one of spot nodes.
inline void warn_of_spot(const Cluster& cluster, const std::string& limit,
                         std::vector<std::string>& warnings) {
    for (const Node& node : cluster.nodes)
        if (node.spot) return;
    if (!cluster.nodes.empty()) warnings.push_back(limit + ": no node is a spot node, so it limits nothing");
}

}  // namespace detail

/// Dollars an hour of everybody together, by Node::dollars_per_hour. A configuration costs its share of the
/// nodes of its pools: a Scheduler takes nodes of unlike prices for pools of their own, but for those over
/// which one job runs, which are counted at their mean price.
class Budget {
public:
    /// At most so many dollars an hour; none: no limit.
    explicit Budget(std::optional<double> dollars_per_hour = {}) : most_(dollars_per_hour) {}

    /// One row, or none.
    void rows(const Round& round, LimitRows& rows) {
        if (!most_) return;
        rows.add("the budget", *most_, "dollars an hour");
        per_gpu_ = detail::mean_per_gpu(round, &Node::dollars_per_hour);
    }
    /// Unlike prices of nodes matter.
    [[nodiscard]] bool counts_dollars() const { return most_.has_value(); }
    /// Dollars an hour of the GPUs that the option occupies.
    void uses(const Round& round, const Job&, const Option& option, LimitUses& uses) const {
        if (most_) uses.add(0, detail::total_of(option.configuration, round, per_gpu_));
    }
    /// Nodes without a price.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (most_) detail::warn_of_prices(round.cluster, "the budget", warnings);
    }

private:
    std::optional<double> most_;
    std::vector<double> per_gpu_;  // by pool
};

/// GPUs on spot nodes of everybody together: what the provider may take back at once.
class SpotCap {
public:
    /// At most so many GPUs; none: no limit.
    explicit SpotCap(std::optional<double> gpus = {}) : most_(gpus) {}

    /// One row, or none.
    void rows(const Round&, LimitRows& rows) const {
        if (most_) rows.add("the cap on spot GPUs", *most_, "GPUs");
    }
    /// Spot GPUs that nobody else can use.
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        if (most_) uses.add(0, detail::spot_gpus_of(option.configuration));
    }
    /// No spot nodes.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (most_) detail::warn_of_spot(round.cluster, "the cap on spot GPUs", warnings);
    }

private:
    std::optional<double> most_;
};

/// Watts of all GPUs in use.
class PowerCap {
public:
    /// At most so many watts; each GPU of a type takes so many, by index into Cluster::gpu_types.
    PowerCap(double most_watts, std::vector<double> watts_per_gpu)
        : most_(most_watts), watts_(std::move(watts_per_gpu)) {}

    /// One row. Watts for another number of GPU types than the cluster's get std::invalid_argument.
    void rows(const Round& round, LimitRows& rows) const {
        if (watts_.size() != round.cluster.gpu_types.size())
            bad_input("power cap", "GPU types with watts", watts_.size(),
                      text_of(round.cluster.gpu_types.size()) + ", one for each GPU type of the cluster");
        rows.add("the power cap", most_, "watts");
    }
    /// Watts of the GPUs that the option holds.
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        for (const PoolShare& part : option.configuration.parts())
            uses.add(0, part.shape.gpus * watts_[part.gpu_type]);
    }
    /// Nodes of a GPU type without watts.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        for (std::size_t type = 0; type < watts_.size(); ++type)
            if (watts_[type] == 0 && std::any_of(round.cluster.nodes.begin(), round.cluster.nodes.end(),
                                                 [&](const Node& node) { return node.gpu_type == type; }))
                warnings.push_back("the power cap: GPUs of type " + round.cluster.gpu_types[type] +
                                   " take 0 watts, so it does not count them");
    }

private:
    double most_;
    std::vector<double> watts_;
};

/// Licences of one name: every running job of some kinds takes one.
class Licences {
public:
    /// So many licences for the jobs of these kinds (Job::kind).
    Licences(std::string name, int licences, std::vector<std::string> kinds)
        : name_(std::move(name)), licences_(licences), kinds_(std::move(kinds)) {}

    /// One row.
    void rows(const Round&, LimitRows& rows) const {
        rows.add("the licences of " + name_, licences_, "licences");
    }
    /// One licence, whatever the option.
    void uses(const Round&, const Job& job, const Option&, LimitUses& uses) const {
        for (const std::string& kind : kinds_)
            if (job.kind == kind) uses.add(0, 1);
    }
    /// No kinds at all, and kinds that no job is of, although one is of a kind of nearly that name.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        const std::string whose = "the licences of " + name_ + ": ";
        if (kinds_.empty()) warnings.push_back(whose + "they are for no kind of job, so they limit nothing");
        std::vector<std::string_view> others;
        for (const Job& job : round.jobs)
            if (std::find(kinds_.begin(), kinds_.end(), job.kind) == kinds_.end() &&
                others.size() < detail::most_names && !job.kind.empty() &&
                std::find(others.begin(), others.end(), job.kind) == others.end())
                others.push_back(job.kind);
        for (const std::string& kind : kinds_)
            if (const std::string meant = did_you_mean(kind, others);
                !meant.empty() && std::none_of(round.jobs.begin(), round.jobs.end(),
                                               [&](const Job& job) { return job.kind == kind; }))
                warnings.push_back(whose + "no job is of kind '" + kind + "'" + meant);
    }

private:
    std::string name_;
    int licences_;
    std::vector<std::string> kinds_;
};

static_assert(Limit<Budget> && Limit<SpotCap> && Limit<PowerCap> && Limit<Licences>);

// What the jobs of one team may have together.

/// The quotas of one team; what is left out is not limited.
struct TeamQuota {
    std::string team{};                            ///< as in Job::team
    std::optional<double> gpus{};                  ///< of all types
    std::vector<std::optional<double>> of_type{};  ///< by GPU type; may be shorter than their number
    std::optional<double> dollars_per_hour{};      ///< by Node::dollars_per_hour
    std::optional<double> spot_gpus{};             ///< of spot nodes of all types
};

/// Quotas of teams. GPUs count that nobody else can use (Configuration::occupied_gpus). Jobs of no team, and
/// of teams without quotas, are not limited.
class TeamQuotas {
public:
    /// Quotas of these teams, in any order, of different names.
    explicit TeamQuotas(std::vector<TeamQuota> quotas = {}) : quotas_(std::move(quotas)) {
        std::sort(quotas_.begin(), quotas_.end(),
                  [](const TeamQuota& a, const TeamQuota& b) { return a.team < b.team; });
        std::vector<const std::string*> names;
        for (const TeamQuota& quota : quotas_) names.push_back(&quota.team);
        detail::require_own_names("team", names);
    }

    /// A row for every quota. Quotas that are negative or not finite: std::invalid_argument.
    void rows(const Round& round, LimitRows& rows) {
        rows_.clear();
        std::size_t count = 0;
        bool priced = false;
        for (const TeamQuota& quota : quotas_) {
            Rows& mine = rows_.emplace_back();
            if (quota.gpus) {
                mine.gpus = count++;
                rows.add("the quota of team " + quota.team, *quota.gpus, "GPUs");
            }
            mine.of_type.assign(round.cluster.gpu_types.size(), none);
            for (std::size_t type = 0; type < std::min(quota.of_type.size(), mine.of_type.size()); ++type) {
                if (!quota.of_type[type]) continue;
                mine.of_type[type] = count++;
                rows.add("the quota of team " + quota.team + " on " + round.cluster.gpu_types[type],
                         *quota.of_type[type], round.cluster.gpu_types[type]);
            }
            if (quota.dollars_per_hour) {
                mine.dollars = count++;
                priced = true;
                rows.add("the budget of team " + quota.team, *quota.dollars_per_hour, "dollars an hour");
            }
            if (quota.spot_gpus) {
                mine.spot = count++;
                rows.add("the quota of team " + quota.team + " on spot nodes", *quota.spot_gpus, "GPUs");
            }
        }
        if (priced) per_gpu_ = detail::mean_per_gpu(round, &Node::dollars_per_hour);
    }
    /// Unlike prices of nodes matter.
    [[nodiscard]] bool counts_dollars() const {
        return std::any_of(quotas_.begin(), quotas_.end(),
                           [](const TeamQuota& quota) { return quota.dollars_per_hour.has_value(); });
    }
    /// Looks up the team of the job whose options come next.
    void start_job(const Round&, const Job& job) { team_ = quota_of(job); }
    /// GPUs and dollars an hour that the option takes of its team's quotas.
    void uses(const Round& round, const Job&, const Option& option, LimitUses& uses) const {
        if (team_ == none) return;
        const Rows& mine = rows_[team_];
        const Configuration& configuration = option.configuration;
        if (mine.gpus != none) uses.add(mine.gpus, configuration.occupied_gpus());
        for (const PoolShare& part : configuration.parts())
            if (mine.of_type[part.gpu_type] != none)
                uses.add(mine.of_type[part.gpu_type], part.occupied_gpus());
        if (mine.dollars != none) uses.add(mine.dollars, detail::total_of(configuration, round, per_gpu_));
        if (mine.spot != none) uses.add(mine.spot, detail::spot_gpus_of(configuration));
    }
    /// Teams of jobs that are nearly one with a quota, quotas of which no job is of the team, jobs whose
    /// fewest GPUs are more than their team may have, and what detail::warn_of_prices() and warn_of_spot()
    /// say.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (quotas_.empty() || round.jobs.empty()) return;
        std::vector<std::string_view> known;
        for (const TeamQuota& quota : quotas_) known.push_back(quota.team);
        std::map<std::string_view, Whom> unknown;  // jobs, by team
        std::map<std::string_view, Whom> never;
        bool any_known = false;
        for (const Job& job : round.jobs) {
            const std::size_t team = quota_of(job);
            any_known |= team != none;
            if (team == none && !job.team.empty() && unknown.size() < detail::most_names)
                unknown[job.team].add(job.name);
            const int fewest = job.adaptivity == Adaptivity::none ? job.max_gpus : job.min_gpus;
            if (team != none && quotas_[team].gpus && fewest > *quotas_[team].gpus)
                never[job.team].add(job.name);
        }
        bool any_near = false;
        for (const auto& [team, jobs] : unknown)
            if (const std::string meant = did_you_mean(team, known); !meant.empty()) {
                any_near = true;
                warnings.push_back(jobs.text("job") + ": team '" + std::string(team) + "' has no quota" +
                                   meant);
            }
        if (!any_known && !any_near)
            warnings.push_back(
                "the quotas of teams: no job is of a team that has one, so they limit nothing");
        for (const auto& [team, jobs] : never)
            warnings.push_back(jobs.text("job") +
                               ": the fewest GPUs that it may have are more than the quota of team " +
                               std::string(team) + ", so it gets none");
        if (counts_dollars()) detail::warn_of_prices(round.cluster, "the budget of teams", warnings);
        if (std::any_of(quotas_.begin(), quotas_.end(),
                        [](const TeamQuota& quota) { return quota.spot_gpus.has_value(); }))
            detail::warn_of_spot(round.cluster, "the quota of teams on spot nodes", warnings);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct Rows {
        std::size_t gpus = none, dollars = none, spot = none;
        std::vector<std::size_t> of_type{};  ///< by GPU type
    };

    /// The index of its team's quota; none where there is none.
    [[nodiscard]] std::size_t quota_of(const Job& job) const {
        const auto at = std::lower_bound(
            quotas_.begin(), quotas_.end(), job.team,
            [](const TeamQuota& quota, const std::string& team) { return quota.team < team; });
        return at != quotas_.end() && at->team == job.team ? static_cast<std::size_t>(at - quotas_.begin())
                                                           : none;
    }

    std::vector<TeamQuota> quotas_;  // by name
    std::vector<Rows> rows_;         // by quota
    std::vector<double> per_gpu_;    // dollars an hour, by pool
    std::size_t team_ = none;        // of the job that is being asked about
};

static_assert(Limit<TeamQuotas>);

}  // namespace goodput

#endif
