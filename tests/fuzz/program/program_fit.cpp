// Fuzzes `goodput fit`: models and predictions are finite and ordered, whatever the measurements, and the
// answer to a line depends on that line alone. The first byte is ignored.

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "claims.hpp"
#include "json_mutation.hpp"
#include "plan/fit.hpp"

namespace {

using fuzz::Exchange;
using fuzz::Json;

const fuzz::Format format{{"samples",     "gpu_type",      "nodes",       "gpus",
                           "local_batch", "accumulation",  "step_s",      "sync_s",
                           "predict",     "initial_batch", "gradient",    "sqr",
                           "var",         "noise_scale",   "convergence", "convergence_batches",
                           "batch",       "examples",      "runs",        "std"},
                          {"T4", "A100", "H100"}};

std::vector<Exchange> fitted(const std::string& text) {
    return fuzz::exchanges(text, [](std::istream& in, std::ostream& out) {
        return cli::serve_lines(in, out, false, cli::fit_server());
    });
}

void check_fit(const Exchange& exchange) {
    const Json &line = exchange.line, &answer = exchange.answer;
    check_no_null(exchange, answer, "", {});
    std::set<std::string> types;
    for (const Json& sample : line["samples"]) types.insert(sample["gpu_type"].get<std::string>());
    exchange.check(answer["models"].size() == types.size(), "a model a measured GPU type");
    exchange.check(answer["rmsle"].size() == types.size(), "an error a measured GPU type");
    for (const std::string& type : types) {
        exchange.check(answer["models"].contains(type) && answer["rmsle"].contains(type), "of that GPU type");
        exchange.check(answer["rmsle"][type].get<double>() >= 0, "errors are not negative");
        const Json& model = answer["models"][type];
        for (const char* name : {"alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "alone"})
            exchange.check(model[name].get<double>() >= 0, "times are not negative");
        exchange.check(model["gamma"].get<double>() >= 1, "an overlap is at least 1");
    }
    const std::size_t questions =
        line.contains("predict") && line["predict"].is_array() ? line["predict"].size() : 0;
    exchange.check(answer["predictions"].size() == questions, "an answer a question");
    for (const Json& prediction : answer["predictions"]) {
        const double low = prediction["low_s"].get<double>(),
                     median = prediction["iteration_s"].get<double>(),
                     high = prediction["high_s"].get<double>();
        exchange.check(0 < low && low <= median && median <= high, "0 < low <= median <= high");
    }
    const auto check_order = [&](const Json& estimate, const char* median) {
        exchange.check(0 < estimate["low"].get<double>() && estimate["low"] <= estimate[median] &&
                           estimate[median] <= estimate["high"],
                       "0 < low <= median <= high, by trainings");
    };
    if (!answer.contains("noise_scale")) return;
    check_order(answer["noise_scale"], "median");
    for (const Json& prediction : answer["noise_scale"]["predictions"]) check_order(prediction, "examples");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Exchange> exchanges = fitted(text);
    for (const Exchange& exchange : exchanges) {
        if (exchange.refused) continue;
        check_fit(exchange);
        if (exchanges.size() > 1)
            exchange.check(
                fuzz::untimed(fitted(exchange.text + '\n').front().answer) == fuzz::untimed(exchange.answer),
                "a line is answered as if it stood alone");
    }
    return fuzz::verdict(exchanges);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return fuzz::mutate_json_lines(data, size, most, seed, format);
}
