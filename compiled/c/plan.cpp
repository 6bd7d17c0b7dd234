// The C interface's plans and explanations: the one source that compiles the scheduler.

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/availability/lost_time.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/hosts/with_hosts.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "round.hpp"
#include "support.hpp"

namespace goodput::c {

namespace {

using RoundLimits = Limits<TeamQuotas, Budget, SpotCap, HostCapacity>;

template <Policy P>
using SchedulerOf = Scheduler<P, TopologyPlacer, Allotter<>, GoodputPredictor, RoundLimits, HostShares<>,
                              Factors<HostFactor, LostTime>, DividedHosts>;
using Advisor = RentAdvisor<GoodputPredictor, GoodputPolicy, Limits<TeamQuotas>>;
using AnyScheduler = std::variant<SchedulerOf<Sia>, SchedulerOf<GoodputPolicy>>;

template <class P, std::size_t N>
P configured(std::string_view subject, const PolicyNumber<P> (&known)[N],
             const Elements<goodput_policy_option>& options) {
    P policy;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const goodput_policy_option option = options[i];
        require_given(option.name, subject, "option[" + text_of(i) + "].name");
        const auto at = std::find_if(std::begin(known), std::end(known), [&](const PolicyNumber<P>& setting) {
            return setting.name == option.name;
        });
        if (at == std::end(known)) {
            std::string names;
            for (const PolicyNumber<P>& setting : known)
                names.append(names.empty() ? "one of " : ", ").append(setting.name);
            bad_input(subject, "option[" + text_of(i) + "].name", "'" + std::string(option.name) + "'",
                      names);
        }
        if (!std::isfinite(option.value)) bad_input(subject, option.name, option.value, "a finite number");
        policy.*(at->number) = option.value;
    }
    policy.validate();
    return policy;
}

template <Policy P>
AnyScheduler scheduler_of(P policy, const AllotOptions& options) {
    return SchedulerOf<P>(std::move(policy), options);
}

AnyScheduler make_scheduler(const goodput_scheduler_settings& settings) {
    const AllotOptions options = allot_options("scheduler settings", settings.gap, settings.deadline_ms,
                                               settings.most_states, settings.memory_states);
    const Elements<goodput_policy_option> numbers(settings.option, settings.option_count,
                                                  settings.option_size, "option");
    switch (settings.policy) {
        case GOODPUT_POLICY_SIA:
            return scheduler_of(configured("policy sia", sia_numbers, numbers), options);
        case GOODPUT_POLICY_GOODPUT:
            return scheduler_of(configured("policy goodput", goodput_numbers, numbers), options);
        default:
            bad_input("scheduler settings", "policy", settings.policy,
                      "GOODPUT_POLICY_SIA or GOODPUT_POLICY_GOODPUT");
    }
}

static_assert(GOODPUT_WAIT == static_cast<int>(Action::wait) &&
              GOODPUT_START == static_cast<int>(Action::start) &&
              GOODPUT_STAY == static_cast<int>(Action::stay) &&
              GOODPUT_MOVE == static_cast<int>(Action::move) &&
              GOODPUT_RESTART == static_cast<int>(Action::restart) &&
              GOODPUT_STOP == static_cast<int>(Action::stop));
static_assert(GOODPUT_RUNS == static_cast<int>(Outcome::runs) &&
              GOODPUT_WAITS == static_cast<int>(Outcome::waits) &&
              GOODPUT_IMPOSSIBLE == static_cast<int>(Outcome::impossible));
static_assert(GOODPUT_MEASURED == static_cast<int>(Knowledge::measured) &&
              GOODPUT_PROJECTED == static_cast<int>(Knowledge::projected) &&
              GOODPUT_NOTHING_KNOWN == static_cast<int>(Knowledge::unknown));

/// An array of the caller's that is written from its beginning; what finds no room is only counted.
template <class Struct>
class Written {
public:
    Written(Struct* array, std::size_t capacity, std::size_t size, std::string_view subject,
            std::string_view name)
        : array_(array), capacity_(capacity), size_(size) {
        if (capacity == 0) return;
        require_given(array, subject, name);
        require_size<Struct>(size, std::string(subject) + ": " + std::string(name) + "_size");
    }
    void add(const Struct& element) {
        if (count_ < capacity_) write_element(array_, count_, size_, element);
        ++count_;
    }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] bool fits() const { return count_ <= capacity_; }

private:
    Struct* array_;
    std::size_t capacity_, size_, count_ = 0;
};

/// The answer's arrays, refused before the round is looked at where they make no sense.
struct Answer {
    explicit Answer(goodput_plan* plan)
        : to(plan),
          plan_fields(read_sized(plan, "goodput_plan")),
          decisions(plan_fields.decision, plan_fields.decision_capacity, plan_fields.decision_size,
                    "goodput_plan", "decision"),
          shares(plan_fields.share, plan_fields.share_capacity, plan_fields.share_size, "goodput_plan",
                 "share"),
          prices(plan_fields.price, plan_fields.price_capacity, plan_fields.price_size, "goodput_plan",
                 "price"),
          limits(plan_fields.limit, plan_fields.limit_capacity, plan_fields.limit_size, "goodput_plan",
                 "limit") {}

    void write(const Snapshot& snapshot, const Plan& plan) {
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) add_decision(j, plan.decisions[j]);
        for (const PoolPrice& pool : plan.prices)
            prices.add({pool.gpu_type, pool.gpus_per_node, pool.spot ? 1 : 0, pool.price});
        for (const LimitUse& limit : plan.limits) limits.add({limit.capacity, limit.used, limit.price});
        goodput_plan& out = plan_fields;
        out.decision_count = decisions.count();
        out.share_count = shares.count();
        out.price_count = prices.count();
        out.limit_count = limits.count();
        out.objective = plan.objective;
        out.bound = plan.bound;
        out.gap = plan.bound - plan.objective;
        out.move_cost_s = plan.move_cost_seconds;
        out.proof = static_cast<std::int32_t>(plan.status);
        out.running = out.starting = 0;
        for (const Decision& decision : plan.decisions) {
            out.running += decision.placement.empty() ? 0 : 1;
            out.starting += decision.starts ? 1 : 0;
        }
        out.conflict_count = plan.conflicts.size();
        out.fault_count = plan.faults.size();
        out.warning_count = plan.warnings.size();
        write_struct(to, to->struct_size, out);
        if (!(decisions.fits() && shares.fits() && prices.fits() && limits.fits()))
            throw Failure(GOODPUT_TOO_SMALL,
                          "goodput_plan: the arrays must have room for " + text_of(decisions.count()) +
                              " decisions, " + text_of(shares.count()) + " shares, " +
                              text_of(prices.count()) + " prices and " + text_of(limits.count()) + " limits");
    }

private:
    void add_decision(std::size_t j, const Decision& decision) {
        goodput_decision out{};
        out.action = static_cast<std::int32_t>(decision.action);
        out.outcome = static_cast<std::int32_t>(decision.verdict.outcome);
        out.first_share = shares.count();
        out.share_count = decision.placement.size();
        out.knowledge = static_cast<std::int32_t>(decision.option.knowledge);
        out.availability = 1;
        if (!decision.placement.empty()) {
            const Option& option = decision.option;
            out.gpu_type = option.configuration.first().gpu_type;
            for (const NodeShare& share : decision.placement) {
                out.gpus += share.gpus;
                shares.add({j, share.node, share.gpus, 0});
            }
            out.local_batch = option.plan.atomic_batch;
            out.accumulation = option.plan.accumulation_steps;
            out.goodput = option.goodput;
            out.value = decision.value;
            out.cores_per_gpu = option.configuration.host().cores_per_gpu;
            out.memory_gib_per_gpu = option.configuration.host().memory_gib_per_gpu;
            out.availability = option.checkpointing.availability;
            out.checkpoint_s = option.checkpointing.interval_seconds;
        }
        decisions.add(out);
    }

    goodput_plan* to;
    goodput_plan plan_fields;
    Written<goodput_decision> decisions;
    Written<goodput_share> shares;
    Written<goodput_pool_price> prices;
    Written<goodput_limit_use> limits;
};

}  // namespace

}  // namespace goodput::c

struct goodput_scheduler {
    goodput::c::LastError error{};
    goodput::c::AnyScheduler scheduler{};
    goodput::JobMemory memory{};
    std::vector<std::string> gpu_types{};
    goodput::Snapshot snapshot{};  ///< of the last plan
    bool planned = false;
    std::vector<goodput::TeamQuota> teams{};             ///< of the last round
    std::optional<std::chrono::nanoseconds> deadline{};  ///< by the settings, of rounds that say none
    std::vector<std::string> why{};                      ///< by job; made when first asked for
    std::vector<std::string> why_of_offers{};            ///< of the last advice on this plan

    [[nodiscard]] const goodput::Plan& last_plan() const {
        if (!planned)
            throw goodput::c::Failure(GOODPUT_NOT_YET,
                                      "scheduler: there is no plan, or the last round was refused");
        return std::visit([](const auto& any) -> const goodput::Plan& { return any.last_plan(); }, scheduler);
    }

    void plan(const goodput_round& round) {
        planned = false;
        why.clear();
        why_of_offers.clear();
        goodput::c::RoundInput input = goodput::c::read_round(round, gpu_types);
        memory.take_in(input.snapshot, input.news, input.cancelled);
        input.snapshot.warnings.insert(input.snapshot.warnings.begin(), input.warnings.begin(),
                                       input.warnings.end());
        std::visit(
            [&](auto& any) {
                any.placer().set_topology(std::move(input.topology));
                any.options().deadline =
                    input.deadline_ms ? goodput::c::nanoseconds_of(*input.deadline_ms) : deadline;
                any.limits() =
                    goodput::c::RoundLimits(goodput::TeamQuotas(input.teams), goodput::Budget(input.budget_h),
                                            goodput::SpotCap(input.spot_gpus), goodput::HostCapacity());
                memory.keep(input.snapshot, any.plan(input.snapshot));
            },
            scheduler);
        gpu_types = input.snapshot.cluster.gpu_types;
        snapshot = std::move(input.snapshot);
        teams = std::move(input.teams);
        planned = true;
    }

    /// What is worth renting for the last round.
    [[nodiscard]] goodput::RentAdvice advise(const goodput_rent_question& question) {
        (void)last_plan();
        const std::vector<goodput::RentOffer> offers = goodput::c::read_offers(question, snapshot.cluster);
        goodput::c::Advisor advisor(question.hour_worth == 0 ? 10 : question.hour_worth, {}, {},
                                    goodput::Limits(goodput::TeamQuotas(teams)));
        const goodput::RentAdvice& advice = advisor.advise(snapshot, offers);
        why_of_offers.clear();
        for (const goodput::OfferAdvice& of : advice.offers) why_of_offers.push_back(of.why);
        return advice;
    }

    const std::string& why_of(std::size_t job) {
        if (why.empty())
            std::visit(
                [&](const auto& any) {
                    for (const auto& explanation : explain_plan(any, snapshot))
                        why.push_back(explanation.report(snapshot.cluster));
                },
                scheduler);
        return why[job];
    }

    [[nodiscard]] std::string sentence(std::int32_t about, std::size_t index) {
        const goodput::Plan& made = last_plan();
        const auto one_of = [&](std::size_t count, const char* what) {
            if (index >= count)
                goodput::bad_input(
                    "explanation", "index", index,
                    "below the number of " + std::string(what) + ", " + goodput::text_of(count));
        };
        switch (about) {
            case GOODPUT_ABOUT_JOB:
                one_of(made.decisions.size(), "jobs");
                return why_of(index);
            case GOODPUT_ABOUT_OUTCOME:
                one_of(made.decisions.size(), "jobs");
                return made.decisions[index].verdict.reason;
            case GOODPUT_ABOUT_LIMIT:
                one_of(made.limits.size(), "limits");
                return made.limits[index].report();
            case GOODPUT_ABOUT_LIMIT_NAME:
                one_of(made.limits.size(), "limits");
                return made.limits[index].name;
            case GOODPUT_ABOUT_CONFLICT:
                one_of(made.conflicts.size(), "conflicts");
                return made.conflicts[index].report(snapshot, made);
            case GOODPUT_ABOUT_FAULT:
                one_of(made.faults.size(), "faults");
                return made.faults[index].report(snapshot);
            case GOODPUT_ABOUT_WARNING:
                one_of(made.warnings.size(), "warnings");
                return made.warnings[index];
            case GOODPUT_ABOUT_LIMIT_UNIT:
                one_of(made.limits.size(), "limits");
                return made.limits[index].unit;
            case GOODPUT_ABOUT_OFFER:
                one_of(why_of_offers.size(), "offers");
                return why_of_offers[index];
            case GOODPUT_ABOUT_PLAN:
                return made.report();
            case GOODPUT_ABOUT_CHECKPOINT: {
                one_of(made.decisions.size(), "jobs");
                const goodput::Option& option = made.decisions[index].option;
                return option.checkpointing.interval_seconds > 0
                           ? checkpoint_of(snapshot.jobs[index], option).name
                           : std::string();
            }
            default:
                goodput::bad_input("explanation", "about", about, "GOODPUT_ABOUT_JOB or another of its kind");
        }
    }
};

using namespace goodput::c;

extern "C" {

goodput_scheduler* goodput_scheduler_create(void) {
    try {
        return new goodput_scheduler;
    } catch (...) {
        return nullptr;
    }
}

void goodput_scheduler_destroy(goodput_scheduler* scheduler) { delete scheduler; }

const char* goodput_scheduler_error(const goodput_scheduler* scheduler) {
    return scheduler ? scheduler->error.text() : "the handle is null";
}

goodput_status goodput_scheduler_configure(goodput_scheduler* scheduler,
                                           const goodput_scheduler_settings* settings) {
    return guarded(scheduler, [&] {
        AnyScheduler made = make_scheduler(read_sized(settings, "goodput_scheduler_settings"));
        scheduler->scheduler = std::move(made);
        scheduler->memory = {};
        scheduler->gpu_types.clear();
        scheduler->planned = false;
        scheduler->why.clear();
        scheduler->deadline =
            std::visit([](auto& any) { return any.options().deadline; }, scheduler->scheduler);
    });
}

goodput_status goodput_scheduler_plan(goodput_scheduler* scheduler, const goodput_round* round,
                                      goodput_plan* plan) {
    return guarded(scheduler, [&] {
        const goodput_round asked = read_sized(round, "goodput_round");
        Answer answer(plan);
        scheduler->plan(asked);
        answer.write(scheduler->snapshot, scheduler->last_plan());
    });
}

goodput_status goodput_scheduler_last_plan(goodput_scheduler* scheduler, goodput_plan* plan) {
    return guarded(scheduler, [&] {
        Answer answer(plan);
        answer.write(scheduler->snapshot, scheduler->last_plan());
    });
}

goodput_status goodput_scheduler_advise(goodput_scheduler* scheduler, const goodput_rent_question* question,
                                        goodput_rent_advice* advice) {
    return guarded(scheduler, [&] {
        const goodput_rent_question asked = read_sized(question, "goodput_rent_question");
        goodput_rent_advice out = read_sized(advice, "goodput_rent_advice");
        Written<goodput_offer_advice> answers(out.advice, out.advice_capacity, out.advice_size,
                                              "goodput_rent_advice", "advice");
        if (asked.offer_count > out.advice_capacity)
            throw Failure(GOODPUT_TOO_SMALL, "goodput_rent_advice: the array must have room for " +
                                                 goodput::text_of(asked.offer_count) + " offers");
        const goodput::RentAdvice made = scheduler->advise(asked);
        for (const goodput::OfferAdvice& each : made.offers)
            answers.add({each.nodes, each.gpus_wanted, each.gpu_worth});
        out.price_h = made.dollars_per_hour;
        write_struct(advice, advice->struct_size, out);
    });
}

goodput_status goodput_scheduler_explain(goodput_scheduler* scheduler, int32_t about, size_t index,
                                         char* text, size_t capacity, size_t* length) {
    return guarded(scheduler, [&] {
        const std::string sentence = scheduler->sentence(about, index);
        if (length) *length = sentence.size();
        if (!text || capacity == 0) {
            if (text || !length) throw Failure(GOODPUT_TOO_SMALL, "explanation: capacity is 0");
            return;
        }
        const std::size_t written = std::min(sentence.size(), capacity - 1);
        std::memcpy(text, sentence.data(), written);
        text[written] = '\0';
        if (written < sentence.size())
            throw Failure(GOODPUT_TOO_SMALL, "explanation: capacity is " + goodput::text_of(capacity) +
                                                 ", but must be at least " +
                                                 goodput::text_of(sentence.size() + 1));
    });
}

}  // extern "C"
