// Properties of what jobs of a kind tell each other about their size: order, names, the clock, the unit of
// examples, other kinds and cancelled jobs make no difference.

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/schedule/job_sizes.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::random_order;
using support::Random;

namespace {

struct SizedJob {
    Job job;
    Decision decision;  ///< what the job gets in the round
};

struct SizedRound {
    double seconds = 0;
    std::vector<std::string> cancelled{};  ///< names of jobs that were cancelled before the round
    std::vector<SizedJob> jobs{};
};

/// What is said of a job: the examples it is expected to need still, and those it has done.
using Said = std::pair<std::optional<double>, double>;
using SaidByName = std::map<std::string, Said>;

bool is_doomed(const std::string& name) { return name.starts_with("doomed"); }

/// Returns jobs of three kinds that come and go. Doomed jobs are cancelled by half of the rounds. No more
/// jobs end than are remembered, since beyond that the order of ends at one time would matter.
std::vector<SizedRound> random_size_rounds(Random& random, bool doomed) {
    constexpr int rounds = 24;
    std::vector<SizedRound> all;
    SizedRound now;
    for (int r = 0, born = 0; r < rounds; ++r) {
        now.seconds += random.integer(0, 300);
        now.cancelled.clear();
        std::erase_if(now.jobs, [&](const SizedJob& one) {
            const bool goes = random.chance(0.15) || (is_doomed(one.job.name) && r == rounds / 2);
            if (goes && is_doomed(one.job.name)) now.cancelled.push_back(one.job.name);
            return goes;
        });
        for (int fresh = random.integer(0, 2); fresh > 0; --fresh, ++born) {
            const bool unlucky = doomed && r < rounds / 2 && random.chance(0.4);
            Job job{.name = (unlucky ? "doomed " : "job ") + std::to_string(born),
                    .kind = "kind " + std::to_string(random.integer(0, 2))};
            if (random.chance(0.5)) job.done_examples = random.chance(0.5) ? 0 : random.between(0, 1e5);
            now.jobs.push_back({job, {}});
        }
        for (auto& [job, decision] : now.jobs) {
            if (job.done_examples) *job.done_examples += random.between(0, 1e4);
            job.restart_cost_seconds = random.between(0, 200);
            decision = {};
            if (random.chance(0.3)) continue;  // the job waits
            decision.placement = {{0, 1}};
            decision.option.goodput = random.between(1, 100);
            decision.option.knowledge = random.chance(0.1) ? Knowledge::unknown : Knowledge::measured;
            decision.starts = random.chance(0.3);
        }
        all.push_back(now);
    }
    return all;
}

std::vector<SaidByName> said_in(const std::vector<SizedRound>& rounds) {
    JobSizes sizes;
    std::vector<SaidByName> said;
    for (const SizedRound& round : rounds) {
        for (const std::string& name : round.cancelled) sizes.end(name);
        Snapshot snapshot{.time_seconds = round.seconds};
        Plan plan;
        for (const auto& [job, decision] : round.jobs) {
            snapshot.jobs.push_back(job);
            plan.decisions.push_back(decision);
        }
        sizes.expect(snapshot);
        sizes.note(snapshot, plan);
        SaidByName& now = said.emplace_back();
        for (const Job& job : snapshot.jobs)
            now[job.name] = {job.expected_examples, job.done_examples.value()};
    }
    return said;
}

/// Returns how many expectations there are: without any, a property proves nothing.
std::size_t expectations_in(const std::vector<SaidByName>& said) {
    std::size_t count = 0;
    for (const SaidByName& round : said)
        for (const auto& [name, of] : round) count += of.first ? 1 : 0;
    return count;
}

void count_empty(Case& one, const std::vector<SaidByName>& said) {
    if (expectations_in(said) == 0) one.count("in which nothing is ever expected");
}

}  // namespace

TEST_CASE("sizes: the order of the jobs, names and what the clock shows make no difference") {
    for_all(5, [](Case& one) {
        const std::vector<SizedRound> rounds = random_size_rounds(one.random, true);
        const double shift = std::ldexp(one.random.integer(-100, 100), one.random.integer(0, 20));
        std::vector<SizedRound> other;
        // The kinds' new names sort in another order, too.
        const auto renamed_size = [](std::string name) {
            name.back() = static_cast<char>('z' - (name.back() - '0'));
            return name;
        };
        for (const SizedRound& round : rounds) {
            SizedRound& turned = other.emplace_back();
            turned.seconds = round.seconds + shift;
            for (const std::string& name : round.cancelled) turned.cancelled.push_back(renamed_size(name));
            turned.jobs.resize(round.jobs.size());
            const std::vector<std::size_t> to = random_order(one.random, round.jobs.size());
            for (std::size_t j = 0; j < to.size(); ++j) {
                SizedJob& job = turned.jobs[to[j]] = round.jobs[j];
                job.job.name = renamed_size(job.job.name);
                job.job.kind = renamed_size(job.job.kind);
            }
        }
        const std::vector<SaidByName> said = said_in(rounds), again = said_in(other);
        count_empty(one, said);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            for (const auto& [name, of] : said[r]) REQUIRE(again[r].at(renamed_size(name)) == of);
    });
}

TEST_CASE("sizes: jobs of other kinds make no difference") {
    for_all(5, [](Case& one) {
        const std::vector<SizedRound> rounds = random_size_rounds(one.random, true);
        std::vector<SizedRound> apart = rounds;
        for (SizedRound& round : apart)
            std::erase_if(round.jobs, [](const SizedJob& job) { return job.job.kind != "kind 0"; });
        const std::vector<SaidByName> together = said_in(rounds), said = said_in(apart);
        count_empty(one, said);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            for (const auto& [name, of] : said[r]) REQUIRE(together[r].at(name) == of);
    });
}

TEST_CASE("sizes: jobs that were cancelled are as if they had never been, once they are gone") {
    for_all(5, [](Case& one) {
        const std::vector<SizedRound> rounds = random_size_rounds(one.random, true);
        std::vector<SizedRound> without = rounds;
        for (SizedRound& round : without)
            std::erase_if(round.jobs, [](const SizedJob& job) { return is_doomed(job.job.name); });
        const std::vector<SaidByName> said = said_in(rounds), innocent = said_in(without);
        count_empty(one, innocent);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            if (innocent[r].size() == said[r].size()) REQUIRE(innocent[r] == said[r]);
    });
}

TEST_CASE("sizes: examples in another unit, a power of two, are expected in that unit") {
    for_all(5, [](Case& one) {
        const std::vector<SizedRound> rounds = random_size_rounds(one.random, false);
        const double factor = std::ldexp(1, one.random.integer(-40, 40));
        std::vector<SizedRound> scaled = rounds;
        for (SizedRound& round : scaled)
            for (auto& [job, decision] : round.jobs) {
                if (job.done_examples) *job.done_examples *= factor;
                decision.option.goodput *= factor;
            }
        const std::vector<SaidByName> said = said_in(rounds), other = said_in(scaled);
        count_empty(one, said);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            for (const auto& [name, of] : said[r]) {
                const auto& [expected, done] = other[r].at(name);
                REQUIRE(done == factor * of.second);
                REQUIRE(expected.has_value() == of.first.has_value());
                if (expected) REQUIRE(*expected == factor * *of.first);
            }
    });
}

TEST_CASE("sizes: a job that reports what was added up for it already changes nothing") {
    for_all(5, [](Case& one) {
        const std::vector<SizedRound> rounds = random_size_rounds(one.random, true);
        const std::vector<SaidByName> said = said_in(rounds);
        std::vector<SizedRound> told = rounds;
        for (std::size_t r = 0; r < told.size(); ++r)
            for (SizedJob& job : told[r].jobs)
                if (one.random.chance(0.5)) job.job.done_examples = said[r].at(job.job.name).second;
        count_empty(one, said);
        REQUIRE(said_in(told) == said);
    });
}
