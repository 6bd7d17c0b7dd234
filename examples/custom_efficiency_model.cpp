// An efficiency model of your own: a table of how many examples a training needed at some total batch
// sizes, instead of the gradient noise scale.

#include <goodput/model/batch_plan.hpp>
#include <iostream>
#include <utility>
#include <vector>

// [model]
struct MeasuredEfficiency {
    std::vector<std::pair<double, double>> examples_needed;  ///< by total batch, ascending

    double efficiency(double total_batch) const {
        const auto& [first_batch, first_examples] = examples_needed.front();
        double batch = first_batch, examples = first_examples;
        for (const auto& [next_batch, next_examples] : examples_needed) {
            if (next_batch >= total_batch) {
                const double part = next_batch > batch ? (total_batch - batch) / (next_batch - batch) : 1;
                return first_examples / (examples + part * (next_examples - examples));
            }
            batch = next_batch;
            examples = next_examples;
        }
        return first_examples * batch /
               (examples * total_batch);  // beyond the table a larger batch adds nothing
    }
};
static_assert(goodput::EfficiencyModel<MeasuredEfficiency>);
// [/model]

int main() {
    const goodput::PolluxThroughput throughput{
        .alpha_c = 0.05, .beta_c = 0.001, .alpha_n = 0.2, .alpha_r = 0.05, .gamma = 1.5};
    const goodput::BatchLimits limits{.initial_batch = 128, .max_batch = 8192, .max_atomic_batch = 1024};
    const MeasuredEfficiency measured{{{128, 1.0e7}, {512, 1.1e7}, {2048, 1.8e7}, {8192, 5.0e7}}};
    bool honoured = true;
    for (const goodput::Shape shape : {goodput::Shape{1, 1}, goodput::Shape{1, 4}, goodput::Shape{2, 8}}) {
        const goodput::BestPlan any =
            goodput::best_batch_plan(throughput, goodput::FullEfficiency{}, shape, limits);
        const goodput::BestPlan best = goodput::best_batch_plan(throughput, measured, shape, limits);
        std::cout << shape.gpus << " GPUs: total batch " << best.plan.total(shape.gpus) << ", "
                  << best.goodput << " useful examples/s; if all counted alike " << any.plan.total(shape.gpus)
                  << "\n";
        honoured = honoured && best.plan.total(shape.gpus) <= any.plan.total(shape.gpus) &&
                   best.goodput < any.goodput;
    }
    return honoured ? 0 : 1;
}
