// Sia's public simulator as a modelling: its predictions for GPU types that a job has not trained on, batches
// within their limits, and the start of one published job, row by row.

#include "peers/sia/published_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "goodput/policy/sia.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/profiles.hpp"
#include "support/random.hpp"
#include "support/validation.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

PolluxThroughput random_throughput(support::Random& random) {
    return {random.between(0.01, 0.3), random.between(1e-4, 1e-2), random.between(0, 0.3),
            random.between(0, 0.02),   random.between(0, 0.1),     random.between(0, 0.02),
            random.between(1, 4)};
}

/// A job on three GPU types with 2, 4 and 8 GPUs per node, and models of some of them.
struct Known {
    static constexpr int sizes[]{2, 4, 8};
    Job job;
    JobModel model;
    std::vector<Option> options;  ///< 1, 2, 4 .. 32 GPUs of every type

    explicit Known(support::Random& random) {
        job.name = "job";
        job.max_gpus = 32;
        job.initial_batch = random.integer(8, 100);
        job.max_batch = job.initial_batch * random.integer(8, 40);
        job.single_gpu_accumulates = random.chance(0.5);
        job.gradient = GradientStatistics{1, random.between(0.1, 50)};
        for (std::size_t type = 0; type < 3; ++type) {
            TypeLimits limits;
            limits.min_atomic_batch = random.integer(1, 8);
            limits.max_atomic_batch = random.integer(32, 256);
            limits.reference_rate = random.between(10, 1000);
            job.types.push_back(limits);
            TypeModel of_type;
            of_type.throughput = random_throughput(random);
            of_type.most_replicas = random.chance(0.5) ? random.integer(1, 16) : 0;
            model.types.push_back(of_type);
            for (int gpus = 1; gpus <= 32; gpus *= 2)
                options.push_back({{type, sizes[type], {(gpus + sizes[type] - 1) / sizes[type], gpus}},
                                   {},
                                   0,
                                   Knowledge::unknown});
        }
    }

    [[nodiscard]] bool trained_on(std::size_t type) const { return model.types[type].most_replicas > 0; }
    [[nodiscard]] std::size_t first_trained() const {
        std::size_t type = 0;
        while (type < 3 && !trained_on(type)) ++type;
        return type;
    }
};

std::vector<Option> predicted(const Known& known) {
    std::vector<Option> options = known.options;
    PublishedPredictor{}(known.job, known.model, options);
    return options;
}

bool equal(const std::vector<Option>& a, const std::vector<Option>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Option& x, const Option& y) {
        return x.plan == y.plan && x.goodput == y.goodput && x.knowledge == y.knowledge;
    });
}

}  // namespace

TEST_CASE("before the first training every GPU counts as 1, whatever its type") {
    support::Random random(31);
    for (int round = 0; round < 100; ++round) {
        Known known(random);
        for (TypeModel& type : known.model.types) type.most_replicas = 0;
        if (random.chance(0.5)) known.job.gradient.reset();
        for (const Option& option : predicted(known)) {
            CHECK(option.knowledge == Knowledge::unknown);
            if (option.goodput > 0) CHECK(option.goodput == option.configuration.gpus());
            if (option.configuration.gpus() == 1) CHECK(option.goodput == 1);
        }
    }
}

TEST_CASE("a type trained on answers by its own model, any other by that of the first trained one, scaled") {
    support::Random random(32);
    PublishedBatchGrid grid(GridPrecision::single);
    int projected = 0;
    for (int round = 0; round < 2000; ++round) {
        const Known known(random);
        const std::size_t first = known.first_trained();
        if (first == 3) continue;
        for (const Option& option : predicted(known)) {
            const std::size_t type = option.configuration.first().gpu_type;
            const bool own = known.trained_on(type);
            const std::size_t by = own ? type : first;
            const int gpus = option.configuration.gpus(), size = Known::sizes[by];
            const BestPlan best =
                grid.best_plan(std::get<PolluxThroughput>(known.model.types[by].throughput),
                               {static_cast<double>(known.job.initial_batch), *known.job.gradient},
                               {(gpus + size - 1) / size, gpus}, batch_limits(known.job, by));
            const double ratio = known.job.types[type].reference_rate / known.job.types[by].reference_rate;
            REQUIRE(option.knowledge == (own ? Knowledge::measured : Knowledge::projected));
            REQUIRE(option.plan == best.plan);
            REQUIRE(option.goodput == doctest::Approx(best.goodput * (own ? 1 : ratio)).epsilon(1e-12));
            projected += own ? 0 : 1;
        }
    }
    CHECK(projected > 1000);
}

TEST_CASE("projections know nothing of later types, however far these have been trained on") {
    support::Random random(33);
    for (int round = 0; round < 500; ++round) {
        Known known(random);
        known.model.types[0].most_replicas = 1;
        known.model.types[1].most_replicas = 0;
        known.model.types[2].most_replicas = 0;
        const std::vector<Option> before = predicted(known);
        known.model.types[2].most_replicas = 32;
        const std::vector<Option> after = predicted(known);
        CHECK(equal({before.begin(), before.begin() + 12}, {after.begin(), after.begin() + 12}));
        // The order of the options does not matter, and a rate that is not known scales by 1.
        Known reversed = known;
        std::reverse(reversed.options.begin(), reversed.options.end());
        std::vector<Option> backwards = predicted(reversed);
        std::reverse(backwards.begin(), backwards.end());
        CHECK(equal(after, backwards));
        Known equal_rates = known;
        equal_rates.job.types[1].reference_rate = equal_rates.job.types[0].reference_rate;
        known.job.types[1].reference_rate = 0;
        CHECK(equal(predicted(known), predicted(equal_rates)));
    }
}

TEST_CASE("pipelines, fixed batches and jobs without a gradient get the general answers") {
    support::Random random(34);
    for (int round = 0; round < 300; ++round) {
        Known known(random);
        switch (random.integer(0, 2)) {
            case 0:
                for (TypeLimits& limits : known.job.types) limits.gpus_per_replica = 2;
                std::erase_if(known.options, [](const Option& o) { return o.configuration.gpus() == 1; });
                break;
            case 1:
                known.job.adaptivity = random.chance(0.5) ? Adaptivity::gpus : Adaptivity::none;
                known.job.target_batch = known.job.initial_batch;
                break;
            default:
                known.job.gradient.reset();
        }
        std::vector<Option> general = known.options;
        GoodputPredictor{}(known.job, known.model, general);
        CHECK(equal(predicted(known), general));
    }
}

TEST_CASE("the batch that a running job takes is never beyond its limits") {
    support::Random random(35);
    PublishedModels models;
    int cut = 0, given = 0;
    PublishedBatchGrid grid;
    for (int round = 0; round < 20000; ++round) {
        BatchLimits limits;
        limits.initial_batch = random.integer(1, 200);
        limits.max_batch = limits.initial_batch * random.integer(1, 40);
        limits.min_atomic_batch = random.integer(1, 16);
        limits.max_atomic_batch = limits.min_atomic_batch * random.integer(1, 32);
        limits.single_gpu_accumulates = random.chance(0.5);
        const int gpus = 1 << random.integer(0, 6);
        if (gpus * limits.min_atomic_batch > limits.max_batch) continue;
        const Shape shape{random.integer(1, std::min(gpus, 8)), gpus};
        const TypeModel model{.throughput = random_throughput(random), .most_replicas = 1};
        const NoiseScaleEfficiency efficiency{static_cast<double>(limits.initial_batch),
                                              {1, random.between(0.1, 1000)}};
        const BestPlan best = models.best_plan(model, efficiency, shape, limits);
        const BestPlan whole =
            grid.best_plan(std::get<PolluxThroughput>(model.throughput), efficiency, shape, limits);
        REQUIRE(best.plan.accumulation_steps == whole.plan.accumulation_steps);
        REQUIRE(best.plan.atomic_batch <= whole.plan.atomic_batch);
        if (best.goodput == 0) continue;
        ++given;
        REQUIRE(best.plan.atomic_batch >= 1);
        REQUIRE(best.plan.atomic_batch <= limits.max_atomic_batch);
        // Unless every GPU and step takes just one example.
        const int parts = gpus * (best.plan.accumulation_steps + 1);
        REQUIRE(best.plan.total(gpus) <= std::max(limits.max_batch, parts));
        if (best.plan != whole.plan) {
            ++cut;
            REQUIRE(whole.plan.total(gpus) > limits.max_batch);
        } else {
            REQUIRE(whole.plan.atomic_batch >= limits.min_atomic_batch);
        }
    }
    CHECK(given > 10000);
    CHECK(cut > 100);
}

TEST_CASE("whatever its input, a running job stays within what its GPUs hold, and its work grows") {
    support::Random random(36);
    for (int round = 0; round < 20; ++round) {
        const support::ReplayWorld world(random, 1);
        const Application& application = world.applications[world.submissions[0].application];
        SiaWorld<PublishedModels> jobs(world.cluster, world.applications, world.submissions);
        Configuration held;
        std::optional<double> completed;
        for (double now = 0; !completed && now < 1e6; now += 60) {
            if (held.empty() || random.chance(0.3)) {
                const auto type = static_cast<std::size_t>(random.integer(0, 1));
                const int size = type == 0 ? 4 : 8, gpus = 1 << random.integer(0, 4);
                held = {type, size, {(gpus + size - 1) / size, gpus}};
                jobs.start(0, held);
            }
            const double before = jobs.done(0);
            const std::size_t epoch = jobs.epoch(0);
            completed = jobs.train(0, held, now, 60);
            REQUIRE(jobs.done(0) > before);
            REQUIRE(jobs.epoch(0) >= epoch);
            const ApplicationOnType& on_type = application.types[held.first().gpu_type];
            REQUIRE(jobs.plan(0).atomic_batch >= on_type.min_atomic_batch);
            REQUIRE(jobs.plan(0).atomic_batch <= on_type.largest_batch(held.first().shape));
            REQUIRE(jobs.plan(0).total(held.gpus()) <= application.curve.max_batch());
            REQUIRE(jobs.history(0).model().types[held.first().gpu_type].most_replicas > 0);
        }
        CHECK(completed);
        CHECK(jobs.done(0) == 1);
    }
}

TEST_CASE("with these models every job of a trace completes, and equal replays are equal") {
    support::Random random(37);
    for (int round = 0; round < 5; ++round) {
        const support::ReplayWorld world(random, 25);
        const auto run = [&] {
            return replay<PublishedModels>(world.cluster, world.applications, world.submissions, Sia{},
                                           {.moves_restart = false});
        };
        const ReplayResult first = run(), second = run();
        CHECK(metrics_of(first).completed == world.submissions.size());
        for (std::size_t j = 0; j < first.jobs.size(); ++j)
            CHECK(first.jobs[j].completed_seconds == second.jobs[j].completed_seconds);
    }
}

TEST_SUITE("data") {
    namespace {

    const std::string sia_folder = GOODPUT_DATA_DIR "/sia/";
    const std::vector<std::string> gpu_types{"aws", "dgx-ext", "rtx"};

    /// Returns cifar10 as measured, with the figures that the public simulator adds.
    Application cifar10() {
        const std::string folder = sia_folder + "profiles/cifar10";
        Application application{
            .name = "cifar10", .restart_seconds = 50, .restart_cost_seconds = 30, .slowdown = 1.8};
        for (const std::string& type : gpu_types) {
            const support::Profile profile = support::read_profile(folder, type);
            ApplicationOnType on_type;
            on_type.truth = profile.table();
            on_type.max_nodes = profile.table().max_nodes();
            on_type.min_atomic_batch = profile.placements.front().atomic_batch;
            int batch_of_one = 0;
            double seconds_of_one = 0;
            for (const PlacementSample& sample : profile.placements) {
                on_type.min_atomic_batch = std::min(on_type.min_atomic_batch, sample.atomic_batch);
                on_type.max_atomic_batch = std::max(on_type.max_atomic_batch, sample.atomic_batch);
                if (sample.gpus_by_node != std::vector<int>{1}) continue;
                batch_of_one = std::max(batch_of_one, sample.atomic_batch);
                seconds_of_one = std::max(seconds_of_one, sample.step_seconds);
            }
            on_type.reference_rate = batch_of_one / seconds_of_one;
            application.types.push_back(on_type);
        }
        std::vector<int> batches;
        std::vector<std::vector<GradientStatistics>> gradients;
        std::vector<double> progress;  // of the batch size that needs least
        for (const auto& [batch, run] : support::read_validation(folder)) {
            batches.push_back(batch);
            gradients.emplace_back();
            progress.resize(run.size(), 1e300);
            for (std::size_t epoch = 0; epoch < run.size(); ++epoch) {
                gradients.back().push_back(run[epoch].gradient);
                progress[epoch] = std::min(progress[epoch], run[epoch].progress);
            }
        }
        application.curve = TrainingCurve(batches, gradients, progress);
        return application;
    }

    /// Sia with a preference for the first of equal options. Notes the values and goodputs of the first job.
    struct FirstOfEqual {
        Sia sia{};
        std::map<Configuration, double>* weights = nullptr;
        std::map<Configuration, double>* goodputs = nullptr;

        void value_round(const Round& round, std::span<const OptionRow> rows) const {
            value_rows(sia, round, rows);
            weights->clear();
            goodputs->clear();
            for (std::size_t k = 0; k < rows.front().options.size(); ++k) {
                const Option& option = rows.front().options[k];
                (*weights)[option.configuration] = sia.unserved_penalty - rows.front().values[k];
                (*goodputs)[option.configuration] = option.goodput;
            }
            for (const OptionRow& row : rows)
                for (std::size_t k = 0; k < row.values.size(); ++k)
                    row.values[k] -= 1e-6 * static_cast<double>(k);
        }
        [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t type) const {
            return sia.most_gpus(job, model, type);
        }
    };

    /// Returns how many different steps a job has measured on a GPU type.
    int entries(const JobHistory& history, std::size_t type) {
        int count = 0;
        for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{1, 8}, Shape{2, 8}})
            for (int batch = 1; batch <= 4096; ++batch) count += history.has_measured(type, shape, batch);
        return count;
    }

    }  // namespace

    TEST_CASE("cifar10 has the reference rates of the public simulator") {
        const Application application = cifar10();
        CHECK(application.types[0].reference_rate == doctest::Approx(1458.4972).epsilon(1e-7));
        CHECK(application.types[1].reference_rate == doctest::Approx(10062.5525).epsilon(1e-8));
        CHECK(application.types[2].reference_rate == doctest::Approx(3306.3236).epsilon(1e-8));
        CHECK(application.types[1].max_atomic_batch == 4096);
        CHECK(application.curve.initial_batch() == 128);
        CHECK(application.curve.max_batch() == 4096);
        CHECK(application.curve.progress_after(5) == 2344);
    }

    TEST_CASE("the first job of saturn/workload-1 starts as in the public simulator, row by row") {
        struct At {
            double time, progress;
            std::size_t epoch;
            BatchPlan plan;
            int aws, dgx, rtx;  // numbers of different measured steps
            std::size_t type;
            int gpus;  // chosen GPUs
            double weight;
            int restarts;
        };
        // From ../shared/reference: the state at the decision, then what is chosen.
        const std::vector<At> rows{
            {420, 0, 0, {}, 0, 0, 0, 0, 1, 1.00, 0},
            {480, 53.8771, 0, {128, 0}, 1, 0, 0, 1, 2, 0.39, 0},
            {540, 239.5486, 0, {64, 0}, 1, 1, 0, 1, 2, 0.54, 1},
            {600, 1364.2948, 3, {113, 0}, 1, 2, 0, 1, 2, 0.51, 1},
            {660, 3697.9947, 9, {535, 0}, 1, 8, 0, 1, 4, 0.33, 1},
            {720, 4456.7040, 11, {471, 0}, 1, 11, 0, 1, 8, 0.28, 2},
        };
        const std::vector<Application> applications{cifar10()};
        const std::vector<Submission> submissions{{"cifar10-0", 401, 0, 12, 4096},
                                                  {"cifar10-1", 528, 0, 12, 4096}};
        Cluster cluster{gpu_types, {}};
        for (const auto& [type, nodes, gpus] :
             {std::tuple<std::size_t, int, int>{0, 6, 4}, {1, 2, 8}, {2, 3, 8}})
            for (int node = 0; node < nodes; ++node)
                cluster.nodes.push_back({gpu_types[type] + std::to_string(node), type, gpus});

        std::map<Configuration, double> weights, goodputs;
        SiaWorld<PublishedModels> world(cluster, applications, submissions);
        std::size_t row = 0;
        replay(cluster, world, FirstOfEqual{.weights = &weights, .goodputs = &goodputs},
               {.moves_restart = false, .last_second = 720},
               [&](double now, const Snapshot& snapshot, auto make_plan) {
                   REQUIRE(row < rows.size());
                   const At& at = rows[row++];
                   CAPTURE(at.time);
                   REQUIRE(now == at.time);
                   const double total = applications[0].curve.total_progress();
                   CHECK(std::abs(world.done(0) * total - at.progress) < 5.1e-5);
                   CHECK(*snapshot.jobs[0].remaining_examples ==
                         doctest::Approx((1 - world.done(0)) * total * 128).epsilon(1e-12));
                   CHECK(world.epoch(0) == at.epoch);
                   CHECK(world.plan(0).atomic_batch == at.plan.atomic_batch);
                   CHECK(world.plan(0).accumulation_steps == at.plan.accumulation_steps);
                   CHECK(entries(world.history(0), 0) == at.aws);
                   CHECK(entries(world.history(0), 1) == at.dgx);
                   CHECK(entries(world.history(0), 2) == at.rtx);
                   CHECK(snapshot.jobs[0].restarts == at.restarts);

                   const Decision& decision = make_plan().decisions[0];
                   const Configuration chosen = decision.option.configuration;
                   CHECK(chosen.first().gpu_type == at.type);
                   CHECK(chosen.first().shape == Shape{1, at.gpus});
                   CHECK(weights.at(chosen) == doctest::Approx(at.weight).epsilon(1e-9));
                   if (at.time != 480) return;

                   const StepSeconds measured = applications[0].types[0].seconds({1, 1}, 128);
                   CHECK(measured.step == doctest::Approx(0.103115323).epsilon(1e-8));
                   CHECK(measured.sync == doctest::Approx(0.000525336).epsilon(1e-6));
                   const auto& model = std::get<PolluxThroughput>(snapshot.models[0].types[0].throughput);
                   CHECK(model.alpha_c == (measured.step - measured.sync) / 2);
                   // The rest of a fit to one sample depends on rounding, by about a thousandth.
                   struct Of {
                       std::size_t type;
                       int gpus;
                       double goodput, weight;
                   };
                   CHECK(goodputs.size() == 6);
                   const double unit = goodputs.at({0, 4, {1, 1}});
                   for (const Of& of : {Of{0, 1, 1, 1},
                                        {0, 2, 1.33498, 1.02},
                                        {1, 1, 6.89926, 0.45},
                                        {1, 2, 9.21034, 0.39},
                                        {2, 1, 2.26694, 0.78},
                                        {2, 2, 3.02631, 0.68}}) {
                       const Configuration configuration{of.type, of.type == 0 ? 4 : 8, {1, of.gpus}};
                       CAPTURE(of.type);
                       CAPTURE(of.gpus);
                       CHECK(goodputs.at(configuration) / unit == doctest::Approx(of.goodput).epsilon(1e-3));
                       CHECK(weights.at(configuration) == doctest::Approx(of.weight).epsilon(1e-9));
                   }
               });
        CHECK(row == rows.size());
    }
}
