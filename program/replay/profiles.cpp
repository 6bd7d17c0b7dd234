#include "replay/profiles.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "json/csv.hpp"
#include "json/text_parts.hpp"
#include "replay/embedded.hpp"

namespace goodput::traces {

namespace {

namespace fs = std::filesystem;

constexpr long long most_examples = 1 << 30;

/// Returns the column sync_time, or nothing if the file has none.
std::optional<std::size_t> sync_column(const CsvTable& table) {
    if (table.has_column("sync_time")) return table.column("sync_time");
    return std::nullopt;
}

/// Returns the seconds of synchronisation in a row, or nothing if they were not measured.
std::optional<double> sync_of(const CsvTable& table, std::size_t row, std::optional<std::size_t> column) {
    if (!column || table.text(row, *column).empty()) return std::nullopt;
    return table.number(row, *column);
}

/// The measurements of an application on a GPU type.
struct Measured {
    std::vector<goodput::PlacementSample> by_placement;
    std::vector<goodput::ThroughputSample> by_shape;
    bool sync_measured = true;
};

void read_placements(const std::string& path, Measured& measured) {
    const CsvTable table(path);
    const std::size_t placement = table.column("placement"),
                      batch = table.column({"local_bsz", "local_batch"}), step = table.column("step_time");
    const std::optional<std::size_t> sync = sync_column(table);
    for (std::size_t row = 0; row < table.rows(); ++row) {
        goodput::PlacementSample& sample = measured.by_placement.emplace_back();
        for (const char digit : table.text(row, placement)) {
            if (digit < '1' || digit > '9') table.refuse(row, placement, "digits from 1 to 9, one a node");
            sample.gpus_by_node.push_back(digit - '0');
        }
        sample.atomic_batch = static_cast<int>(table.integer(row, batch, 1, most_examples));
        sample.step_seconds = table.number(row, step);
        const std::optional<double> seconds = sync_of(table, row, sync);
        sample.sync_seconds = seconds.value_or(0);
        measured.sync_measured = measured.sync_measured && seconds;
    }
}

void read_scalability(const std::string& path, Measured& measured) {
    const CsvTable table(path);
    const std::size_t nodes = table.column("num_nodes"), gpus = table.column("num_replicas"),
                      batch = table.column({"local_bsz", "local_batch"}), step = table.column("step_time");
    const std::optional<std::size_t> sync = sync_column(table);
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const std::optional<double> seconds = sync_of(table, row, sync);
        measured.by_shape.push_back({{static_cast<int>(table.integer(row, nodes, 1, 1 << 20)),
                                      static_cast<int>(table.integer(row, gpus, 1, 1 << 20))},
                                     {static_cast<int>(table.integer(row, batch, 1, most_examples)), 0},
                                     table.number(row, step),
                                     seconds.value_or(0)});
        measured.sync_measured = measured.sync_measured && seconds;
    }
}

/// If some rows do not say how much of a step is synchronisation, no row counts. A single replica does not
/// synchronise, so synchronisation is the time by which a step exceeds that of one GPU with the same batch.
void derive_sync(Measured& measured) {
    std::map<int, double> alone;  // by atomic batch
    for (const goodput::PlacementSample& sample : measured.by_placement)
        if (sample.gpus_by_node == std::vector<int>{1})
            alone.emplace(sample.atomic_batch, sample.step_seconds);
    const auto derive = [&](int batch, double step, double& sync) {
        const auto above = alone.lower_bound(batch);
        double compute = 0;
        if (above == alone.end())
            compute = alone.empty() ? step : alone.rbegin()->second;
        else if (above->first == batch || above == alone.begin())
            compute = above->second;
        else {
            const auto below = std::prev(above);
            compute = below->second + (above->second - below->second) * (batch - below->first) /
                                          (above->first - below->first);
        }
        sync = std::max(step - compute, 0.0);
    };
    for (goodput::PlacementSample& sample : measured.by_placement)
        derive(sample.atomic_batch, sample.step_seconds, sample.sync_seconds);
    for (goodput::ThroughputSample& sample : measured.by_shape)
        derive(sample.plan.atomic_batch, sample.step_seconds, sample.sync_seconds);
}

/// Returns the examples/s of one GPU at its largest batch, by its longest step (as in Sia's simulator).
double rate_of_one_gpu(const std::vector<goodput::PlacementSample>& samples) {
    int batch = 0;
    double seconds = 0;
    for (const goodput::PlacementSample& sample : samples) {
        if (sample.gpus_by_node != std::vector<int>{1}) continue;
        batch = std::max(batch, sample.atomic_batch);
        seconds = std::max(seconds, sample.step_seconds);
    }
    return batch > 0 && seconds > 0 ? batch / seconds : 0;
}

goodput::ApplicationOnType read_on_type(const fs::path& folder, const std::string& type) {
    const fs::path placements = folder / ("placements-" + type + ".csv");
    const fs::path scalability = folder / ("scalability-" + type + ".csv");
    if (!fs::exists(placements)) return {};
    Measured measured;
    read_placements(placements.string(), measured);
    if (fs::exists(scalability)) read_scalability(scalability.string(), measured);
    if (!measured.sync_measured) derive_sync(measured);
    const std::vector<goodput::PlacementSample>& by_placement = measured.by_placement;
    const goodput::TabulatedThroughput table(measured.by_shape, by_placement, placements.filename().string());
    const double rate = rate_of_one_gpu(by_placement);
    if (rate == 0)
        throw std::runtime_error(
            placements.string() +
            ": has no measurement of one GPU; a replica of several GPUs cannot be replayed");
    const auto [least, most] =
        std::minmax_element(by_placement.begin(), by_placement.end(),
                            [](const auto& a, const auto& b) { return a.atomic_batch < b.atomic_batch; });
    return {table, least->atomic_batch, most->atomic_batch, table.max_nodes(), rate, measured.sync_measured};
}

/// Returns the total batch size in the name of a file validation-BATCH.csv.
std::optional<int> batch_of(const fs::path& path) {
    const std::string name = path.filename().string(), prefix = "validation-", suffix = ".csv";
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
    const auto batch = cli::number_in<int>(
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    return batch && *batch > 0 ? batch : std::nullopt;
}

goodput::TrainingCurve read_curve(const fs::path& folder) {
    std::map<int, fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (const std::optional<int> batch = batch_of(entry.path())) files.emplace(*batch, entry.path());
    if (files.empty()) throw std::runtime_error(folder.string() + ": has no file validation-BATCH.csv");
    std::vector<int> batches;
    std::vector<std::vector<goodput::GradientStatistics>> gradients;
    std::vector<double> progress;  // of the batch size that needs the least progress
    for (const auto& [batch, path] : files) {
        const CsvTable table(path.string());
        const std::size_t done = table.column("progress"), squared_norm = table.column("grad_sqr"),
                          variance = table.column("grad_var");
        if (!batches.empty() && table.rows() != progress.size())
            throw std::runtime_error(
                path.string() + ": number of epochs is " + goodput::text_of(table.rows()) +
                ", but must be the same at every batch size, " + goodput::text_of(progress.size()));
        batches.push_back(batch);
        auto& of_batch = gradients.emplace_back();
        for (std::size_t row = 0; row < table.rows(); ++row) {
            of_batch.push_back({table.number(row, squared_norm), table.number(row, variance)});
            if (batches.size() == 1)
                progress.push_back(table.number(row, done));
            else
                progress[row] = std::min(progress[row], table.number(row, done));
        }
    }
    return {std::move(batches), std::move(gradients), std::move(progress)};
}

/// Reads the metric after each epoch at the smallest batch size. The owners want the mean of its last
/// twentieth.
goodput::MetricCurve read_metric(const fs::path& folder, int batch) {
    const CsvTable table((folder / ("validation-" + goodput::text_of(batch) + ".csv")).string());
    goodput::MetricCurve curve;
    if (!table.has_column("metric") || table.rows() == 0) return curve;
    const std::size_t metric = table.column("metric"), tail = std::max<std::size_t>(table.rows() / 20, 1);
    for (std::size_t row = 0; row < table.rows(); ++row) curve.by_epoch.push_back(table.number(row, metric));
    const auto mean = [&](std::size_t begin) {
        double sum = 0;
        for (std::size_t row = begin; row < begin + tail; ++row) sum += curve.by_epoch[row];
        return sum / static_cast<double>(tail);
    };
    curve.target.metric = mean(table.rows() - tail);
    curve.target.higher_is_better = curve.target.metric >= mean(0);
    return curve;
}

/// Reads the cost of a start and how much slower progress is than the steps say, as stated by the folder's
/// owner.
ApplicationConstants read_constants(const std::string& path) {
    const CsvTable table(path);
    const std::size_t restart = table.column("restart_s");
    if (table.rows() != 1)
        throw std::runtime_error(path + ": number of rows is " + goodput::text_of(table.rows()) +
                                 ", but must be 1");
    ApplicationConstants constants{.restart_seconds = table.time(0, restart)};
    constants.restart_cost_seconds = table.has_column("restart_cost_s")
                                         ? table.time(0, table.column("restart_cost_s"))
                                         : constants.restart_seconds;
    if (table.has_column("slowdown")) {
        const std::size_t slowdown = table.column("slowdown");
        constants.slowdown = table.number(0, slowdown);
        if (!(constants.slowdown > 0)) table.refuse(0, slowdown, "above 0");
    }
    return constants;
}

}  // namespace

std::vector<std::string> measured_gpu_types(const std::string& folder) {
    constexpr std::string_view before = "placements-", after = ".csv";
    std::set<std::string> types;
    std::error_code ignored;
    for (const fs::directory_entry& application : fs::directory_iterator(folder, ignored))
        for (const fs::directory_entry& file : fs::directory_iterator(application.path(), ignored)) {
            const std::string name = file.path().filename().string();
            if (name.size() > before.size() + after.size() && name.starts_with(before) &&
                name.ends_with(after))
                types.insert(name.substr(before.size(), name.size() - before.size() - after.size()));
        }
    return {types.begin(), types.end()};
}

std::vector<goodput::Application> read_applications(const std::string& folder,
                                                    std::span<const std::string> names,
                                                    std::span<const std::string> gpu_types,
                                                    std::vector<std::string>* as_published) {
    std::vector<goodput::Application> applications;
    for (const std::string& name : names) {
        const fs::path path = fs::path(folder) / name;
        if (!fs::is_directory(path)) throw std::runtime_error(path.string() + ": there is no such folder");
        goodput::Application& application = applications.emplace_back();
        application.name = name;
        const fs::path constants_file = path / "constants.csv";
        const std::optional<ApplicationConstants> published = published_constants(name);
        if (published && as_published && !fs::exists(constants_file)) as_published->push_back(name);
        const ApplicationConstants constants = fs::exists(constants_file)
                                                   ? read_constants(constants_file.string())
                                                   : published.value_or(ApplicationConstants{});
        application.restart_seconds = constants.restart_seconds;
        application.restart_cost_seconds = constants.restart_cost_seconds;
        application.slowdown = constants.slowdown;
        try {
            for (const std::string& type : gpu_types) application.types.push_back(read_on_type(path, type));
            application.curve = read_curve(path);
            application.metric = read_metric(path, application.curve.initial_batch());
        } catch (const std::invalid_argument& error) {
            throw std::runtime_error(path.string() + ": " + error.what());
        }
        if (std::all_of(application.types.begin(), application.types.end(),
                        [](const goodput::ApplicationOnType& type) { return type.max_atomic_batch == 0; }))
            throw std::runtime_error(path.string() +
                                     ": has no placements-TYPE.csv for a GPU type of the cluster");
    }
    return applications;
}

}  // namespace goodput::traces
