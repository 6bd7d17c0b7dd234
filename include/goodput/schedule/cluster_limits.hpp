#ifndef GOODPUT_SCHEDULE_CLUSTER_LIMITS_HPP
#define GOODPUT_SCHEDULE_CLUSTER_LIMITS_HPP

// Limits on what all jobs together take: dollars, watts, licences, spot GPUs, and quotas of teams.
// limits.hpp says what a limit is, and what its rows are.

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

namespace goodput::inline v0_1 {

namespace detail {

/// At most this many unknown names are compared with the known ones in search of a typing error.
inline constexpr std::size_t most_names = 64;

/// Returns the mean of `amount` per GPU for each pool of the round, over all its nodes including drained
/// ones.
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

/// Returns what a configuration takes if each GPU that it occupies takes `per_gpu` of its pool.
inline double total_of(const Configuration& configuration, const Round& round,
                       std::span<const double> per_gpu) {
    double total = 0;
    for (const PoolShare& part : configuration.parts())
        total += part.occupied_gpus() * per_gpu[find_pool(round.pools, part)];
    return total;
}

/// Returns the number of GPUs on spot nodes that a configuration occupies.
inline int spot_gpus_of(const Configuration& configuration) {
    int gpus = 0;
    for (const PoolShare& part : configuration.parts()) gpus += part.spot ? part.occupied_gpus() : 0;
    return gpus;
}

/// Warns if no node has a price, or if a node has none although others of its GPU type, size and spot flag
/// do. Nodes without a price cost nothing.
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
    NameList free;
    for (const Node& node : cluster.nodes)
        if (!is_priced(node) && std::find(priced.begin(), priced.end(),
                                          PoolId{node.gpu_type, node.gpus, node.spot}) != priced.end())
            free.add(node.name);
    if (!free.empty())
        warnings.push_back(free.text("node") + ": no price, although others of the kind have one, so " +
                           budget + " does not count it");
}

/// Warns of a limit on spot GPUs if no node is a spot node.
inline void warn_of_spot(const Cluster& cluster, const std::string& limit,
                         std::vector<std::string>& warnings) {
    for (const Node& node : cluster.nodes)
        if (node.spot) return;
    if (!cluster.nodes.empty()) warnings.push_back(limit + ": no node is a spot node, so it limits nothing");
}

}  // namespace detail

/// Limits the dollars per hour of all jobs together, by Node::dollars_per_hour. A configuration costs the
/// mean price per GPU of its pools. A Scheduler makes nodes with different prices pools of their own, so
/// that this mean is exact. detail/price_groups.hpp lists the few cases in which it keeps them in one pool.
class Budget {
public:
    /// Allows at most `dollars_per_hour`; no limit if it is empty.
    explicit Budget(std::optional<double> dollars_per_hour = {}) : most_(dollars_per_hour) {}

    /// Adds one row if there is a limit.
    void rows(const Round& round, LimitRows& rows) {
        if (!most_) return;
        rows.add("the budget", *most_, "dollars an hour");
        per_gpu_ = detail::mean_per_gpu(round, &Node::dollars_per_hour);
    }
    /// Whether different prices of nodes matter.
    [[nodiscard]] bool counts_dollars() const { return most_.has_value(); }
    /// Adds the dollars per hour of the GPUs that the option occupies.
    void uses(const Round& round, const Job&, const Option& option, LimitUses& uses) const {
        if (most_) uses.add(0, detail::total_of(option.configuration, round, per_gpu_));
    }
    /// Warns of nodes without a price.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (most_) detail::warn_of_prices(round.cluster, "the budget", warnings);
    }

private:
    std::optional<double> most_;
    std::vector<double> per_gpu_;  // by pool
};

/// Limits the spot GPUs of all jobs together. The provider may take all spot GPUs back at the same time.
class SpotCap {
public:
    /// Allows at most `gpus`; no limit if it is empty.
    explicit SpotCap(std::optional<double> gpus = {}) : most_(gpus) {}

    /// Adds one row if there is a limit.
    void rows(const Round&, LimitRows& rows) const {
        if (most_) rows.add("the cap on spot GPUs", *most_, "GPUs");
    }
    /// Adds the spot GPUs that the option occupies: no other job can use them.
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        if (most_) uses.add(0, detail::spot_gpus_of(option.configuration));
    }
    /// Warns if there are no spot nodes.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (most_) detail::warn_of_spot(round.cluster, "the cap on spot GPUs", warnings);
    }

private:
    std::optional<double> most_;
};

/// Limits the watts of all GPUs in use.
class PowerCap {
public:
    /// Allows at most `most_watts`. `watts_per_gpu` is indexed like Cluster::gpu_types.
    PowerCap(double most_watts, std::vector<double> watts_per_gpu)
        : most_(most_watts), watts_(std::move(watts_per_gpu)) {}

    /// Adds one row. Throws std::invalid_argument if the number of entries of `watts_per_gpu` is not the
    /// number of the cluster's GPU types.
    void rows(const Round& round, LimitRows& rows) const {
        if (watts_.size() != round.cluster.gpu_types.size())
            bad_input("power cap", "GPU types with watts", watts_.size(),
                      text_of(round.cluster.gpu_types.size()) + ", one for each GPU type of the cluster");
        rows.add("the power cap", most_, "watts");
    }
    /// Adds the watts of the GPUs that the option holds.
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        for (const PoolShare& part : option.configuration.parts())
            uses.add(0, part.shape.gpus * watts_[part.gpu_type]);
    }
    /// Warns of GPU types in use that take 0 watts.
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

/// Limits the licences of one name: every running job of certain kinds takes one.
class Licences {
public:
    /// Gives `licences` licences to the jobs of these kinds (Job::kind).
    Licences(std::string name, int licences, std::vector<std::string> kinds)
        : name_(std::move(name)), licences_(licences), kinds_(std::move(kinds)) {}

    /// Adds one row.
    void rows(const Round&, LimitRows& rows) const {
        rows.add("the licences of " + name_, licences_, "licences");
    }
    /// Adds one licence, for any option.
    void uses(const Round&, const Job& job, const Option&, LimitUses& uses) const {
        for (const std::string& kind : kinds_)
            if (job.kind == kind) uses.add(0, 1);
    }
    /// Warns if the licences are for no kind of job. Also warns of a kind without jobs if some job's kind
    /// is spelled nearly the same.
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

// Limits on what the jobs of one team may have together.

/// The quotas of one team. Empty members do not limit.
struct TeamQuota {
    std::string team{};            ///< name of the team, as in Job::team
    std::optional<double> gpus{};  ///< GPUs of all types
    /// GPUs by GPU type; types beyond its end are not limited.
    std::vector<std::optional<double>> of_type{};
    std::optional<double> dollars_per_hour{};  ///< dollars per hour, by Node::dollars_per_hour
    std::optional<double> spot_gpus{};         ///< GPUs on spot nodes, of all types
};

/// Quotas of teams. They count GPUs that no other job can use (Configuration::occupied_gpus). Jobs without
/// a team, and jobs of teams without quotas, are not limited.
class TeamQuotas {
public:
    /// Takes the quotas in any order. Their teams must have different names.
    explicit TeamQuotas(std::vector<TeamQuota> quotas = {}) : quotas_(std::move(quotas)) {
        std::sort(quotas_.begin(), quotas_.end(),
                  [](const TeamQuota& a, const TeamQuota& b) { return a.team < b.team; });
        std::vector<const std::string*> names;
        for (const TeamQuota& quota : quotas_) names.push_back(&quota.team);
        detail::require_own_names("team", names);
    }

    /// Adds a row for every quota. Throws std::invalid_argument if a quota is negative or not finite.
    void rows(const Round& round, LimitRows& rows) {
        rows_.clear();
        std::size_t count = 0;
        bool priced = false;
        for (const TeamQuota& quota : quotas_) {
            Rows& quota_rows = rows_.emplace_back();
            if (quota.gpus) {
                quota_rows.gpus = count++;
                rows.add("the quota of team " + quota.team, *quota.gpus, "GPUs");
            }
            quota_rows.of_type.assign(round.cluster.gpu_types.size(), none);
            for (std::size_t type = 0; type < std::min(quota.of_type.size(), quota_rows.of_type.size());
                 ++type) {
                if (!quota.of_type[type]) continue;
                quota_rows.of_type[type] = count++;
                rows.add("the quota of team " + quota.team + " on " + round.cluster.gpu_types[type],
                         *quota.of_type[type], round.cluster.gpu_types[type]);
            }
            if (quota.dollars_per_hour) {
                quota_rows.dollars = count++;
                priced = true;
                rows.add("the budget of team " + quota.team, *quota.dollars_per_hour, "dollars an hour");
            }
            if (quota.spot_gpus) {
                quota_rows.spot = count++;
                rows.add("the quota of team " + quota.team + " on spot nodes", *quota.spot_gpus, "GPUs");
            }
        }
        if (priced) per_gpu_ = detail::mean_per_gpu(round, &Node::dollars_per_hour);
    }
    /// Whether different prices of nodes matter.
    [[nodiscard]] bool counts_dollars() const {
        return std::any_of(quotas_.begin(), quotas_.end(),
                           [](const TeamQuota& quota) { return quota.dollars_per_hour.has_value(); });
    }
    /// Looks up the team of the job whose options come next.
    void start_job(const Round&, const Job& job) { team_ = quota_of(job); }
    /// Adds the GPUs and dollars per hour that the option takes of its team's quotas.
    void uses(const Round& round, const Job&, const Option& option, LimitUses& uses) const {
        if (team_ == none) return;
        const Rows& quota_rows = rows_[team_];
        const Configuration& configuration = option.configuration;
        if (quota_rows.gpus != none) uses.add(quota_rows.gpus, configuration.occupied_gpus());
        for (const PoolShare& part : configuration.parts())
            if (quota_rows.of_type[part.gpu_type] != none)
                uses.add(quota_rows.of_type[part.gpu_type], part.occupied_gpus());
        if (quota_rows.dollars != none)
            uses.add(quota_rows.dollars, detail::total_of(configuration, round, per_gpu_));
        if (quota_rows.spot != none) uses.add(quota_rows.spot, detail::spot_gpus_of(configuration));
    }
    /// Warns of a job whose team has no quota but nearly the name of one that has, of a job whose smallest
    /// number of GPUs exceeds its team's quota, and if no job belongs to a team with a quota. For quotas on
    /// dollars and spot GPUs, also gives the warnings of detail::warn_of_prices() and warn_of_spot().
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        if (quotas_.empty() || round.jobs.empty()) return;
        std::vector<std::string_view> known;
        for (const TeamQuota& quota : quotas_) known.push_back(quota.team);
        std::map<std::string_view, NameList> unknown;  // jobs, by team
        std::map<std::string_view, NameList> never;
        bool any_known = false;
        for (const Job& job : round.jobs) {
            const std::size_t team = quota_of(job);
            any_known |= team != none;
            if (team == none && !job.team.empty() && unknown.size() < detail::most_names)
                unknown[job.team].add(job.name);
            if (team != none && quotas_[team].gpus && job.fewest_gpus() > *quotas_[team].gpus)
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

    /// Returns the index of the quota of the job's team, or none.
    [[nodiscard]] std::size_t quota_of(const Job& job) const {
        const auto at = std::lower_bound(
            quotas_.begin(), quotas_.end(), job.team,
            [](const TeamQuota& quota, const std::string& team) { return quota.team < team; });
        return at != quotas_.end() && at->team == job.team ? static_cast<std::size_t>(at - quotas_.begin())
                                                           : none;
    }

    std::vector<TeamQuota> quotas_;  // by name
    std::vector<Rows> rows_;         // by quota
    std::vector<double> per_gpu_;    // dollars per hour, by pool
    std::size_t team_ = none;        // team of the job that is being asked about
};

static_assert(Limit<TeamQuotas>);

}  // namespace goodput::inline v0_1

#endif
