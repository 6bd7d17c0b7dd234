// Models written by hand or read from a broken file are refused by name or leave no options. They never give
// a goodput that is not a number.

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string> type_names{"T4", "A100"};

Job any_job(Adaptivity adaptivity = Adaptivity::batch) {
    Job job;
    job.name = "bert";
    job.max_gpus = 1 << 20;
    job.initial_batch = 32;
    job.max_batch = 1 << 30;
    job.target_batch = 4096;
    job.adaptivity = adaptivity;
    job.types.assign(2, {.max_atomic_batch = 1 << 30});
    job.gradient = GradientStatistics{1, 100};
    return job;
}

std::vector<Option> all_options() {
    std::vector<Option> options;
    for (std::size_t type = 0; type < 2; ++type)
        for (const Shape shape :
             {Shape{1, 1}, Shape{1, 2}, Shape{1, 1024}, Shape{2, 2048}, Shape{3, 7}, Shape{1024, 1 << 20}})
            options.push_back({{type, 1024, shape}, {7, 7}, not_a_number, Knowledge::unknown});
    return options;
}

TypeModel of(PolluxThroughput model) { return {model, 4, true, {8, 1}}; }
TypeModel of(RefinedThroughput model) { return {std::move(model), 4, true, {8, 1}}; }

const PolluxThroughput pollux{0.1, 0.001, 0.05, 0.01, 0.02, 0.001, 2};

RefinedThroughput refined() {
    RefinedThroughput model;
    model.alpha_c = 0.1;
    model.beta_c = 0.001;
    model.batches = {{8, 1.1}, {64, 0.9}};
    model.node_seconds = 0.02;
    model.network_seconds = 0.05;
    model.gamma = 2;
    model.shapes = {{{1, 2}, 1.1, 0.9}, {{2, 8}, 1, 1.2}};
    return model;
}

/// Values that spoil a number.
const std::vector<double> hostile{not_a_number, infinite, -infinite, -1e-3,
                                  -1e300,       1e31,     1e300,     std::numeric_limits<double>::max()};

std::vector<TypeModel> spoilt_models() {
    std::vector<TypeModel> models{of(PolluxThroughput{}),
                                  of(RefinedThroughput{}),
                                  of(refined()),
                                  of(refined()),
                                  of(refined()),
                                  of(refined()),
                                  of(pollux),
                                  of(pollux),
                                  of(pollux),
                                  of(refined())};
    std::get<RefinedThroughput>(models[2].throughput).batches = {{8, 1}, {8, 1}};
    std::get<RefinedThroughput>(models[3].throughput).batches = {{8, 1}, {4, 1}};
    std::get<RefinedThroughput>(models[4].throughput).shapes = {{{2, 8}, 1, 1}, {{1, 2}, 1, 1}};
    std::get<RefinedThroughput>(models[5].throughput).shapes = {{{0, 0}, 1, 1}};
    models[6].last_plan = {-1, 0};
    models[7].last_plan = {8, -7};
    models[8].most_replicas = std::numeric_limits<int>::max();
    std::get<RefinedThroughput>(models[9].throughput).shapes = {{{3, 2}, 1, 1}};
    for (const double bad : hostile) {
        for (double PolluxThroughput::*field :
             {&PolluxThroughput::alpha_c, &PolluxThroughput::beta_c, &PolluxThroughput::alpha_n,
              &PolluxThroughput::beta_n, &PolluxThroughput::alpha_r, &PolluxThroughput::beta_r,
              &PolluxThroughput::gamma}) {
            PolluxThroughput model = pollux;
            model.*field = bad;
            models.push_back(of(model));
        }
        for (double RefinedThroughput::*field :
             {&RefinedThroughput::alpha_c, &RefinedThroughput::beta_c, &RefinedThroughput::launch_seconds,
              &RefinedThroughput::alone, &RefinedThroughput::node_seconds,
              &RefinedThroughput::network_seconds, &RefinedThroughput::network_ring,
              &RefinedThroughput::gamma}) {
            RefinedThroughput model = refined();
            model.*field = bad;
            models.push_back(of(model));
        }
        for (double RefinedThroughput::*exponent :
             {&RefinedThroughput::straggling, &RefinedThroughput::node_gpus, &RefinedThroughput::network_gpus,
              &RefinedThroughput::network_nodes}) {
            RefinedThroughput model = refined();
            model.*exponent = bad == -1e-3 ? -17 : bad;
            models.push_back(of(model));
        }
        for (const auto& spoil : std::vector<std::function<void(RefinedThroughput&)>>{
                 [&](RefinedThroughput& m) { m.batches[1].batch = bad; },
                 [&](RefinedThroughput& m) { m.batches[1].factor = bad; },
                 [&](RefinedThroughput& m) { m.shapes[1].compute = bad; },
                 [&](RefinedThroughput& m) { m.shapes[1].sync = bad; }}) {
            RefinedThroughput model = refined();
            spoil(model);
            models.push_back(of(model));
        }
    }
    return models;
}

std::string refusal(const JobModel& model) {
    try {
        validate(model, "job 'bert'", type_names);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

/// Returns whether all goodputs are finite, and exactly the options with goodput have a plan.
bool sound(const std::vector<Option>& options) {
    bool good = true;
    for (const Option& option : options)
        good = good && std::isfinite(option.goodput) && option.goodput >= 0 &&
               (option.goodput > 0 ? option.plan.atomic_batch > 0 && option.plan.accumulation_steps >= 0
                                   : option.plan == BatchPlan{});
    return good;
}

}  // namespace

TEST_CASE("A model that nothing can be predicted from is refused with job, GPU type, parameter and value") {
    for (const TypeModel& bad : spoilt_models()) {
        CHECK_FALSE(is_valid(bad));
        const std::string message = refusal({{of(pollux), bad}});
        CAPTURE(message);
        CHECK(message.find("job 'bert' on A100: model.") == 0);
        CHECK(message.find(" is ") != std::string::npos);
        CHECK(message.find("must be between") != std::string::npos);
    }
    CHECK(refusal({{of(pollux), of(PolluxThroughput{})}}) ==
          "job 'bert' on A100: model.alpha_c + beta_c is 0, but must be between 1e-30 and 2e+30");
    CHECK(refusal({{of(pollux), of(refined())}}).empty());
    // A model without a fit may hold anything: it belongs to a type that the job never ran on.
    CHECK(refusal({{TypeModel{}, TypeModel{PolluxThroughput{not_a_number}}}}).empty());
    CHECK(refusal({}).empty());
    try {
        validate(JobModel{{of(PolluxThroughput{-1})}}, [] { return std::string("who"); });
        CHECK(false);
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()).find("who on GPU type 0: model.alpha_c is -1") == 0);
    }
}

TEST_CASE("A model that nothing can be predicted from has no options, and those of others stay sound") {
    GoodputPredictor predictor;
    for (const TypeModel& bad : spoilt_models())
        for (const int gpus_per_replica : {1, 2})
            for (const Adaptivity adaptivity : {Adaptivity::batch, Adaptivity::gpus}) {
                Job job = any_job(adaptivity);
                for (TypeLimits& limits : job.types) limits.gpus_per_replica = gpus_per_replica;
                for (const JobModel& model : {JobModel{{of(pollux), bad}}, JobModel{{bad, of(refined())}},
                                              JobModel{{bad, TypeModel{}}}, JobModel{{bad, bad}}}) {
                    std::vector<Option> options = all_options();
                    if (gpus_per_replica == 2)
                        std::erase_if(options, [](const Option& option) {
                            return option.configuration.gpus() % 2 != 0;
                        });
                    predictor(job, model, options);
                    CHECK(sound(options));
                    if (is_valid(model.types[0]) || is_valid(model.types[1])) continue;
                    for (const Option& option : options) CHECK(option.goodput == 0);
                }
            }
}

TEST_CASE("Rates and statistics of any size leave goodputs that are numbers") {
    GoodputPredictor predictor;
    support::Random random(1);
    for (int round = 0; round < 3000; ++round) {
        Job job = any_job();
        const auto any = [&] { return std::pow(10.0, random.between(-320, 308)); };
        for (TypeLimits& limits : job.types) limits.reference_rate = random.chance(0.3) ? 0 : any();
        job.gradient = GradientStatistics{random.chance(0.2) ? 0 : any(), random.chance(0.2) ? 0 : any()};
        JobModel model{{of(pollux), of(pollux)}};
        model.types[1].most_replicas = random.integer(0, 1);
        std::vector<Option> options = all_options();
        predictor(job, model, options);
        CHECK(sound(options));
        for (const Option& option : options)
            if (option.configuration.first().gpu_type == 0) CHECK(option.goodput > 0);
    }
    for (const GradientStatistics bad : {GradientStatistics{not_a_number, 1}, GradientStatistics{1, infinite},
                                         GradientStatistics{-1, 1}, GradientStatistics{1, -1}}) {
        std::vector<Option> options = all_options();
        CHECK_THROWS_AS(predictor(any_job(), JobModel{{of(pollux)}}, options, bad), std::invalid_argument);
    }
}

TEST_CASE("Statistics that are not numbers leave no batch plan, whatever searches for it") {
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const PolluxThroughput model{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 2};
    for (const GradientStatistics gradient :
         {GradientStatistics{1, infinity}, {nan, 1}, {1, nan}, {infinity, 1}}) {
        const BestPlan best =
            best_batch_plan(model, NoiseScaleEfficiency{32, gradient}, {1, 4}, {32, 256, 1, 64, true});
        CHECK(best.goodput == 0);
    }
}

TEST_CASE("The largest models that are accepted predict a number everywhere, and the searches end") {
    support::Random random(2);
    GoodputPredictor predictor;
    const auto extreme = [&](double least, double most) {
        return random.chance(0.4)   ? least
               : random.chance(0.5) ? most
                                    : least + (most - least) * random.unit();
    };
    const auto factor = [&] { return std::pow(most_model_factor, extreme(-1, 1)); };
    const auto seconds = [&] {
        return random.chance(0.2)   ? 0
               : random.chance(0.4) ? most_model_seconds
                                    : std::clamp(std::pow(10, random.between(-30, 30)), least_compute_seconds,
                                                 most_model_seconds);
    };
    int accepted = 0;
    for (int round = 0; round < support::trials(4000); ++round) {
        TypeModel model;
        if (round % 2 == 0) {
            model = of(PolluxThroughput{seconds(), seconds(), seconds(), seconds(), seconds(), seconds(),
                                        extreme(1, most_model_gamma)});
        } else {
            RefinedThroughput m;
            m.alpha_c = seconds();
            m.beta_c = seconds();
            for (double batch = random.integer(1, 9); batch < 1e9; batch *= random.integer(2, 99))
                m.batches.push_back({batch, factor()});
            m.launch_seconds = seconds();
            m.alone = factor();
            const double most = most_model_exponent;
            m.straggling = extreme(-most, most);
            m.node_seconds = seconds();
            m.node_gpus = extreme(-most, most);
            m.network_seconds = seconds();
            m.network_gpus = extreme(-most, most);
            m.network_nodes = extreme(-most, most);
            m.network_ring = factor();
            m.gamma = extreme(1, most_model_gamma);
            m.shapes = {{{1, 2}, factor(), factor()}, {{1024, 1 << 20}, factor(), factor()}};
            model = of(m);
        }
        if (!is_valid(model)) continue;
        ++accepted;
        bool good = true;
        for (const Option& option : all_options())
            for (const BatchPlan plan : {BatchPlan{1, 0}, BatchPlan{1000, 3}, BatchPlan{1 << 30, 1 << 20}}) {
                const double time = model.iteration_seconds(option.configuration.first().shape, plan);
                const double examples =
                    1.0 * option.configuration.gpus() * plan.atomic_batch * (plan.accumulation_steps + 1.0);
                good = good && std::isfinite(time) && time > 0 && std::isfinite(examples / time);
            }
        CAPTURE(round);
        CHECK(good);
        std::vector<Option> options = all_options();
        Job job = any_job();
        job.max_batch = 1 << 20;
        predictor(job, JobModel{{model, model}}, options);
        CHECK(sound(options));
        for (const Option& option : options) CHECK(option.goodput > 0);
    }
    CHECK(accepted > support::trials(2000));
}
