#ifndef GOODPUT_SCHEDULE_TEAM_QUOTAS_HPP
#define GOODPUT_SCHEDULE_TEAM_QUOTAS_HPP

// What the jobs of one team may have together.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/detail/names.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput {

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
