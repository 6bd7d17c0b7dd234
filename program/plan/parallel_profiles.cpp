#include "plan/parallel_profiles.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "goodput/core/bytes.hpp"
#include "goodput/core/error.hpp"
#include "json/json_files.hpp"

namespace cli {

namespace {

/// The published table. Plans are checked against its memory, and its prices are those of the published
/// simulator. Types for which it has no price cost nothing.
std::vector<goodput::GpuType> published_types() {
    return {{"A100-40", 4, 40, 3.673385}, {"A100-80", 4, 80, 0},  {"V100-16", 4, 16, 2.859998},
            {"GH-96", 4, 96, 11.06},      {"RTX-2080", 8, 11, 0}, {"RTX-3090", 8, 24, 0},
            {"Titan-RTX", 8, 24, 0}};
}

/// Returns a type that only the profiles know. A number of at most three digits at the end of its name is
/// its memory in GiB ("A100-80"). Four digits are a model ("RTX-3090"), which does not give the memory, so
/// the type is left out.
void add_named_type(const std::string& name, std::vector<goodput::GpuType>& types) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const bool known = std::any_of(types.begin(), types.end(),
                                   [&](const goodput::GpuType& type) { return type.name == name; });
    if (known || digits == 0 || name[digits - 1] != '-' || name.size() - digits > 3 || digits == name.size())
        return;
    types.push_back({name, 4, std::stod(name.substr(digits)), 0});
}

/// Calls visit(document) for a file of the folder.
void read_file(const std::filesystem::path& path, bool strict,
               const std::function<void(const Field&)>& visit) {
    const std::string name = path.string();
    const Json document = read_json_file(name, strict);
    read_checked([&] { visit(Field(document, name)); });
}

std::size_t index_in(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// Returns one entry per layer, in their order, made by read(field). Returns nothing if a layer is missing.
template <class Entry, class Read>
std::vector<Entry> by_layer(const Field& field, Read read) {
    const auto fields = field.fields();
    std::vector<Entry> entries(fields.size());
    std::vector<char> given(fields.size(), 0);
    for (const auto& [name, layer] : fields) {
        const auto index = static_cast<std::size_t>(integer_of_name(name, layer, 0));
        if (index >= entries.size()) return {};
        entries[index] = read(layer);
        given[index] = 1;
    }
    return std::find(given.begin(), given.end(), 0) == given.end() ? entries : std::vector<Entry>();
}

/// Reads the nodes from the file. Types in the published table keep the memory given there: the file has
/// the bytes that a driver reports, and plans are checked against whole GiB.
void read_nodes(const Field& document, std::vector<goodput::GpuType>& types) {
    for (const auto& [name, field] : document.fields()) {
        if (name == "zone") continue;
        const int gpus = field["gpus_per_node"].count(1, 1 << 10);
        const double gib = field["mem_per_gpu"].number_at_least(0) / goodput::bytes_per_gib;
        auto known = types.begin();
        while (known != types.end() && known->name != name) ++known;
        if (known == types.end())
            types.push_back({name, gpus, gib, 0});
        else
            known->gpus_per_node = gpus;
    }
}

void read_sizes(const Field& document, std::vector<goodput::LayeredModel>& models) {
    for (const auto& [name, by_degree] : document.fields()) {
        goodput::LayeredModel model;
        model.name = name;
        for (const auto& [degree, layers] : by_degree.fields())
            model.sizes[integer_of_name(degree, layers, 1)] =
                by_layer<goodput::LayerSize>(layers, [](const Field& layer) {
                    return goodput::LayerSize{layer["params_floats"].number_at_least(0),
                                              layer["act_output_floats"].number_at_least(0),
                                              layer["act_mem_floats"].number_at_least(0)};
                });
        if (const auto whole = model.sizes.find(1); whole != model.sizes.end())
            model.layers = whole->second.size();
        models.push_back(std::move(model));
    }
}

void read_times(const Field& document, const std::vector<std::string>& types,
                std::vector<goodput::LayeredModel>& models) {
    for (goodput::LayeredModel& model : models) {
        model.times.resize(types.size());
        const Field of_model = document[model.name];
        if (!of_model.given()) continue;
        for (const auto& [type_name, by_batch] : of_model.fields()) {
            const std::size_t type = index_in(types, type_name);
            if (type == types.size()) continue;
            for (const auto& [batch, by_degree] : by_batch.fields())
                for (const auto& [degree, layers] : by_degree.fields()) {
                    auto times = by_layer<goodput::LayerTime>(layers, [](const Field& layer) {
                        layer.require_size(3, "an array of three: seconds forward, backward and of updates");
                        return goodput::LayerTime{layer[std::size_t{0}].number_at_least(0),
                                                  layer[1].number_at_least(0), layer[2].number_at_least(0)};
                    });
                    // Skip a profile without some of the layers: it covers no plan of the whole model.
                    if (times.size() == model.layers)
                        model.times[type][{integer_of_name(batch, by_degree, 1),
                                           integer_of_name(degree, layers, 1)}] = std::move(times);
                }
        }
    }
}

void read_links(const Field& document, const std::vector<std::string>& types,
                goodput::ParallelCluster& cluster) {
    /// Calls visit(end, fields of that end) for each zone, type and number of GPUs.
    const auto each_end = [&](const Field& zones, const auto& visit) {
        for (const auto& [zone_name, by_type] : zones.fields()) {
            const std::size_t zone = index_in(cluster.zones, zone_name);
            if (zone == cluster.zones.size()) by_type.refuse("of a zone that communication_cost.json has");
            for (const auto& [type_name, by_count] : by_type.fields()) {
                const std::size_t type = index_in(types, type_name);
                if (type == types.size()) continue;
                for (const auto& [count, field] : by_count.fields())
                    visit(goodput::LinkEnd{zone, type, integer_of_name(count, field, 1)}, field);
            }
        }
    };
    each_end(document, [&](const goodput::LinkEnd& from, const Field& ends) {
        each_end(ends, [&](const goodput::LinkEnd& to, const Field& link) {
            const Field curve = link[std::size_t{0}];
            curve.require_size(3, "an array of three coefficients");
            cluster.links[{from, to}] = {curve[std::size_t{0}].number(), curve[1].number(),
                                         curve[2].number()};
        });
    });
}

void read_traffic_prices(const Field& document, goodput::ParallelCluster& cluster) {
    for (const auto& [zone, unused] : document.fields()) cluster.zones.push_back(zone);
    for (const std::string& from : cluster.zones) {
        cluster.usd_per_gigabyte.emplace_back();
        for (const std::string& to : cluster.zones)
            cluster.usd_per_gigabyte.back().push_back(document[from][to].number_at_least(0));
    }
}

}  // namespace

ParallelProfiles read_parallel_profiles(const std::string& folder, bool strict) {
    const std::filesystem::path path(folder);
    ParallelProfiles profiles;
    goodput::ParallelCluster& cluster = profiles.cluster;
    cluster.types = published_types();
    // The path "profiles/" has no parent, but its canonical path has one.
    std::error_code error;
    const std::filesystem::path nodes =
        std::filesystem::weakly_canonical(path / "..", error) / "configs" / "basic_cluster_config.json";
    if (std::filesystem::exists(nodes, error))
        read_file(nodes, strict, [&](const Field& document) { read_nodes(document, cluster.types); });
    const std::string times = (path / "profiles_tmp.json").string();
    const Json measured = read_json_file(times, strict);
    read_checked([&] {
        for (const auto& [model, by_type] : Field(measured, times).fields())
            for (const auto& [type, unused] : by_type.fields()) add_named_type(type, cluster.types);
    });
    std::vector<std::string> types;
    for (const goodput::GpuType& type : cluster.types) types.push_back(type.name);

    read_file(path / "communication_cost.json", strict,
              [&](const Field& document) { read_traffic_prices(document, cluster); });
    read_file(path / "multizone_bandwidths_het.json", strict,
              [&](const Field& document) { read_links(document, types, cluster); });
    read_file(path / "llm_info.json", strict,
              [&](const Field& document) { read_sizes(document, profiles.models); });
    read_checked([&] { read_times(Field(measured, times), types, profiles.models); });

    cluster.gpus.assign(cluster.zones.size(), std::vector<int>(types.size(), 0));
    read_checked([&] {
        cluster.validate();
        for (const goodput::LayeredModel& model : profiles.models) model.validate();
    });
    return profiles;
}

}  // namespace cli
