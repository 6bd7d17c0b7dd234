// Fuzzes an agent. Every call, in any order, is carried out or refused with a reason. Plans keep within
// their limits, outputs are finite, a saved agent restores to the same, and foreign texts do no harm.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/agent/training_agent.hpp"

#include "json/agent_lines.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t parameters = 5;

void check_answers(const TrainingAgent& agent) {
    if (agent.holding().gpus == 0) return;
    check(agent.plan().atomic_batch >= 1 && agent.plan().accumulation_steps >= 0, "the plan",
          agent.plan().atomic_batch);
    check(agent.efficiency() >= 0 && agent.efficiency() <= 1 + 1e-9, "efficiency", agent.efficiency());
    check(agent.goodput() >= 0 && std::isfinite(agent.goodput()), "goodput", agent.goodput());
    const double factor = agent.learning_rate_factor();
    check(factor > 0 && std::isfinite(factor), "learning rate factor", factor);
    if (const auto report = agent.report()) {
        const std::string line = cli::line_of(*report);
        check(line.starts_with("{\"gpu_type\": \"") && line.ends_with('}'), "the report", 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // Treats the same bytes as texts from elsewhere.
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    fuzz::accepted([&] { (void)cli::read_plan(text); });

    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    TrainingSettings settings{.parameters = parameters,
                              .optimizer = head.flag() ? Optimizer::adam : Optimizer::sgd,
                              .initial_batch = head.integer(1, 64),
                              .max_batch = head.integer(1, 4096),
                              .min_atomic_batch = head.integer(1, 4),
                              .max_atomic_batch = head.integer(1, 128),
                              .mean_gradient_given = head.flag(),
                              .measure_every = head.integer(0, 3),
                              .warmup_steps = head.integer(0, 2),
                              .least_steps = head.integer(1, 3),
                              .least_measured_steps = head.integer(1, 3)};
    if (head.flag()) settings.group_sizes = {2, 3};
    settings.split_every = head.integer(-1, 9);
    std::optional<TrainingAgent> made;
    if (!fuzz::accepted([&] { made.emplace(settings); })) return 0;
    TrainingAgent& agent = *made;
    fuzz::accepted([&] { agent.restore(text); });
    double now = 0;
    for (int calls = 0; !bytes.empty() && calls < 300; ++calls) {
        fuzz::Bytes record = bytes.record();
        fuzz::accepted([&] {
            switch (record.integer(0, 9)) {
                case 0:
                    agent.hold({.gpu_type = record.flag() ? "t4" : "a100",
                                .nodes = record.integer(1, 2),
                                .gpus = record.integer(1, 6),
                                .max_atomic_batch = record.integer(0, 64)});
                    break;
                case 1:
                    agent.adopt({record.integer(0, 128), record.integer(0, 3)});
                    break;
                case 2:
                    agent.retune();
                    break;
                case 3: {
                    const std::string saved = agent.save();
                    TrainingAgent other(settings);
                    other.restore(saved);
                    check(other.save() == saved, "saved again", 0);
                    check(other.goodput() == agent.goodput(), "goodput restored", other.goodput());
                    break;
                }
                case 4: {  // a saved text with one wrong byte
                    std::string saved = agent.save();
                    saved[record.index(saved.size())] = static_cast<char>(record.integer(0, 127));
                    const std::string before = agent.save();
                    if (!fuzz::accepted([&] { agent.restore(saved); }))
                        check(agent.save() == before, "unchanged", 0);
                    break;
                }
                case 5:
                    agent.drop_step();
                    break;
                default: {  // a few whole steps
                    const double scale = record.scale(1e-3, 1e3);
                    for (int steps = record.integer(1, 8); steps > 0; --steps) {
                        agent.begin_step(now, {.scale = scale, .adam_updates = record.integer(0, 9)});
                        const int gradients = agent.holding().gpus * (agent.plan().accumulation_steps + 1);
                        std::array<float, parameters> one{}, moments{};
                        for (float& m : moments) m = static_cast<float>(record.scale(1e-6, 1));
                        for (int q = 0; q < gradients && q < 64; ++q) {
                            for (float& g : one) g = static_cast<float>(record.number(-10, 10));
                            agent.add_gradient(std::span<const float>(one), std::span<const float>(moments));
                        }
                        if (settings.mean_gradient_given)
                            agent.add_mean_gradient(std::span<const float>(one),
                                                    std::span<const float>(moments));
                        now += record.scale(1e-4, 1e2);
                        if (record.flag())
                            agent.end_step(now);
                        else
                            agent.end_step(now, record.number(0, 1));
                    }
                }
            }
        });
        if (!std::isfinite(now)) now = 0;
        check_answers(agent);
    }
    return 0;
}
