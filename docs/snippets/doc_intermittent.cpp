// A neural network on a device that harvests power: it runs for two seconds, then charges for six, and so
// on. Chooses how each layer saves its results, a question of the paper MII (IEEE TCAD 43(11), 2024).

#include <goodput/availability/stage_checkpoints.hpp>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

using namespace goodput;

int main() {
    // [layers]
    constexpr double kib = 1.0 / 1048576;  // of non-volatile memory, in GiB
    StageCheckpointQuestion question{.mechanisms = {"by layer", "by tile", "by loop"}};
    question.interruptions = {.per_hour = 3600 / 2.0,
                              .shape = std::numeric_limits<double>::infinity(),  // all equally long
                              .off_seconds = 6};
    question.memory_gib = 120 * kib;
    struct Layer {
        const char* name;
        double seconds;
        int tiles;
        double output_kib;
    };
    for (const Layer& layer :
         {Layer{"conv1", 0.5, 16, 64}, Layer{"conv2", 1.4, 32, 48}, Layer{"conv3", 3.1, 32, 32},
          Layer{"conv4", 2.6, 16, 24}, Layer{"fc1", 0.9, 8, 2}, Layer{"fc2", 0.1, 1, 1}}) {
        const double tile = layer.seconds / layer.tiles, loop = tile / 50;
        CheckpointedStage stage{.name = layer.name, .work_seconds = layer.seconds};
        // Nothing is saved before the layer's output: it has to fit into a live period as a whole.
        stage.mechanisms.push_back({.unsaved_seconds = layer.seconds,
                                    .restore_seconds = 0.02,
                                    .atomic_seconds = layer.seconds,
                                    .memory_gib = layer.output_kib / 4 * kib});
        // Every tile's output is written, twice in turn so that one of them is always whole.
        stage.mechanisms.push_back({.extra_seconds = 0.004 * layer.tiles,
                                    .unsaved_seconds = tile,
                                    .restore_seconds = 0.03,
                                    .atomic_seconds = tile,
                                    .memory_gib = layer.output_kib * kib});
        // The loop's counters are kept: next to nothing is lost, every pass is slower.
        stage.mechanisms.push_back({.extra_seconds = 0.12 * layer.seconds,
                                    .unsaved_seconds = loop,
                                    .restore_seconds = 0.03,
                                    .atomic_seconds = loop,
                                    .memory_gib = layer.output_kib / 2 * kib});
        question.stages.push_back(stage);
    }
    const StageCheckpoints answer = choose_stage_checkpoints(question);
    for (std::size_t s = 0; s < question.stages.size(); ++s)
        std::cout << question.stages[s].name << ": " << question.mechanisms[answer.mechanism[s]] << "\n";
    std::cout << explain_stage_checkpoints(question, answer) << "\n";
    // [/layers]

    // [again]
    Interruptions darker = question.interruptions;  // a watch (docs/availability.md) has raised an alarm
    darker.per_hour = 3600 / 0.8;
    const StageCheckpointChange change = choose_stage_checkpoints_again(question, answer.mechanism, darker);
    std::cout << "in less light: "
              << (change.seconds_before ? std::to_string(*change.seconds_before) + " s"
                                        : std::string("never done"))
              << " as before, " << change.answer.seconds << " s as chosen anew\n";
    // [/again]
    return 0;
}
