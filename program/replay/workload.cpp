#include "replay/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "goodput/core/error.hpp"
#include "json/csv.hpp"
#include "json/text_parts.hpp"

namespace goodput::traces {

Workload read_workload(const std::string& path) {
    const CsvTable table(path);
    const std::size_t name = table.column("name"), time = table.column("time"),
                      application = table.column("application"), gpus = table.column("num_replicas"),
                      batch = table.column("batch_size");
    Workload workload;
    std::map<std::string, std::size_t> applications;
    std::set<std::string> names;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const std::string& text = table.text(row, application);
        if (text.empty()) table.refuse(row, application, "a name");
        const auto [index, fresh] = applications.try_emplace(text, workload.applications.size());
        if (fresh) workload.applications.push_back(text);
        if (!names.insert(table.text(row, name)).second) table.refuse(row, name, "a name of its own");
        workload.submissions.push_back({table.text(row, name), table.time(row, time), index->second,
                                        static_cast<int>(table.integer(row, gpus, 1, 1 << 20)),
                                        static_cast<int>(table.integer(row, batch, 1, 1 << 30))});
    }
    std::ranges::stable_sort(workload.submissions, {}, &goodput::Submission::time_seconds);
    return workload;
}

std::vector<goodput::Event> read_events(const std::string& path, goodput::Cluster& cluster,
                                        std::span<const goodput::Submission> submissions) {
    using goodput::EventKind;
    static const std::map<std::string, EventKind> kinds{{"job_fails", EventKind::job_fails},
                                                        {"node_fails", EventKind::node_fails},
                                                        {"node_drains", EventKind::node_drains},
                                                        {"node_returns", EventKind::node_returns},
                                                        {"node_added", EventKind::node_added}};
    const CsvTable table(path);
    const std::size_t time = table.column("time"), kind = table.column("event"),
                      subject = table.column("subject"), type = table.column("gpu_type"),
                      gpus = table.column("gpus");
    std::set<std::string> jobs;
    std::map<std::string, double> nodes;  // with the time from which they exist
    for (const goodput::Submission& submission : submissions) jobs.insert(submission.name);
    for (const goodput::Node& node : cluster.nodes) nodes.emplace(node.name, -1);
    std::vector<goodput::Event> events;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const auto found = kinds.find(table.text(row, kind));
        if (found == kinds.end())
            table.refuse(row, kind, "job_fails, node_fails, node_drains, node_returns or node_added");
        goodput::Event& event = events.emplace_back(
            goodput::Event{table.time(row, time), found->second, table.text(row, subject)});
        if (event.kind != EventKind::node_added) {
            for (const std::size_t column : {type, gpus})
                if (!table.text(row, column).empty())
                    table.refuse(row, column, "empty except for node_added");
            continue;
        }
        if (table.text(row, type).empty()) table.refuse(row, type, "the name of a GPU type");
        event.gpus = static_cast<int>(table.integer(row, gpus, 1, 1 << 20));
        if (event.subject.empty() || !nodes.emplace(event.subject, event.time_seconds).second)
            table.refuse(row, subject, "a name of its own");
        const auto known =
            std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), table.text(row, type));
        event.gpu_type = static_cast<std::size_t>(known - cluster.gpu_types.begin());
        if (known == cluster.gpu_types.end()) cluster.gpu_types.push_back(table.text(row, type));
    }
    // A file may add a node below the row in which it fails, so all names are known only now.
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const goodput::Event& event = events[row];
        if (event.kind == EventKind::job_fails) {
            if (!jobs.contains(event.subject)) table.refuse(row, subject, "the name of a job of the trace");
        } else if (const auto node = nodes.find(event.subject); node == nodes.end()) {
            table.refuse(row, subject, "the name of a node");
        } else if (event.kind != EventKind::node_added && event.time_seconds <= node->second) {
            table.refuse(row, time, "after the node's addition");
        }
    }
    return events;
}

namespace {

/// Some equal nodes, as --cluster and --offers write them: TYPE:NODESxGPUS[@PRICE_H][/spot][/MTBF_H].
struct NodeGroup {
    std::string type{};
    int nodes = 0;
    int gpus = 0;
    std::optional<double> dollars_per_hour{};
    bool spot = false;
    double interruptions_per_hour = 0;

    /// Returns how the names of its nodes begin.
    [[nodiscard]] std::string name() const { return spot ? type + "-spot" : type; }
};

/// Calls `each(group)` for the groups of a text. The message for a wrong form says `form`. A group has at
/// least `least_nodes` nodes.
template <class Each>
void read_groups(std::string_view option, const std::string& text, std::string_view what,
                 std::string_view form, int least_nodes, Each each) {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        const std::string_view part = std::string_view(text).substr(begin, comma - begin);
        begin = comma + 1;
        const auto refuse = [&](std::string_view wanted) {
            goodput::bad_input(option, "'" + std::string(part) + "'", what, wanted);
        };
        const auto number = [&](std::string_view digits) {
            const auto value = cli::number_in<double>(digits);
            if (!value || !(*value >= 0 && *value < 1e9)) refuse(form);
            return *value;
        };
        const auto integer = [&](std::string_view digits, int least) {
            const double value = number(digits);
            if (value != std::floor(value) || value < least || value > 1 << 20)
                refuse("with whole numbers of nodes and GPUs");
            return static_cast<int>(value);
        };
        const std::size_t colon = part.rfind(':');
        if (colon == 0 || colon == std::string_view::npos) refuse(form);
        const std::size_t suffix = std::min(part.find_first_of("@/", colon), part.size());
        const std::size_t times = part.rfind('x', suffix);
        if (times == std::string_view::npos || times < colon) refuse(form);
        NodeGroup group{.type = std::string(part.substr(0, colon))};
        group.nodes = integer(part.substr(colon + 1, times - colon - 1), least_nodes);
        group.gpus = integer(part.substr(times + 1, suffix - times - 1), 1);
        for (std::size_t at = suffix; at < part.size();) {
            const std::size_t end = std::min(part.find_first_of("@/", at + 1), part.size());
            const std::string_view word = part.substr(at + 1, end - at - 1);
            if (part[at] == '@' && at == suffix) {
                group.dollars_per_hour = number(word);
            } else if (part[at] == '@') {
                refuse(form);
            } else if (word == "spot") {
                group.spot = true;
            } else {
                const double hours = number(word);
                if (!(hours > 0)) refuse("with more than 0 hours from one loss to the next");
                group.interruptions_per_hour = 1 / hours;
            }
            at = end;
        }
        each(group, refuse);
    }
}

}  // namespace

goodput::Cluster parse_cluster(const std::string& text) {
    constexpr std::string_view form = "of the form TYPE:NODESxGPUS[/spot][/MTBF_H], for example aws:6x4";
    goodput::Cluster cluster;
    std::map<std::string, int> count;  // nodes so far, by the beginning of their names
    read_groups(
        "--cluster", text, "no group of nodes", form, 1, [&](const NodeGroup& group, const auto& refuse) {
            // A cluster that is always there costs the same under every policy, so it takes no price.
            if (group.dollars_per_hour) refuse(form);
            const auto found = std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), group.type);
            const auto type = static_cast<std::size_t>(found - cluster.gpu_types.begin());
            if (found == cluster.gpu_types.end()) cluster.gpu_types.push_back(group.type);
            int& named = count[group.name()];
            for (int node = 0; node < group.nodes; ++node)
                cluster.nodes.push_back({.name = group.name() + "-" + goodput::text_of(named++),
                                         .gpu_type = type,
                                         .gpus = group.gpus,
                                         .interruptions_per_hour = group.interruptions_per_hour,
                                         .spot = group.spot});
        });
    // A type may have a name that makes its nodes look like spot nodes of another type.
    goodput::validate(cluster);
    return cluster;
}

std::vector<goodput::RentOffer> parse_offers(const std::string& text, const goodput::Cluster& cluster,
                                             double start_seconds) {
    constexpr std::string_view form =
        "of the form TYPE:NODESxGPUS@PRICE_H[/spot][/MTBF_H], for example aws:6x4@3.91";
    std::vector<goodput::RentOffer> offers;
    read_groups(
        "--offers", text, "no offer of nodes", form, 0, [&](const NodeGroup& group, const auto& refuse) {
            const auto found = std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), group.type);
            if (found == cluster.gpu_types.end()) refuse("of one of the cluster's GPU types");
            if (!group.dollars_per_hour) refuse(form);
            goodput::RentOffer& offer =
                offers.emplace_back(goodput::RentOffer{.name = group.name(), .start_seconds = start_seconds});
            offer.gpu_type = static_cast<std::size_t>(found - cluster.gpu_types.begin());
            offer.gpus = group.gpus;
            offer.most_nodes = group.nodes;
            offer.dollars_per_hour = *group.dollars_per_hour;
            offer.spot = group.spot;
            offer.interruptions_per_hour = group.interruptions_per_hour;
            for (std::size_t other = 0; other + 1 < offers.size(); ++other)
                if (offers[other].name == offer.name) offer.name += "-" + goodput::text_of(offer.gpus);
        });
    goodput::validate(offers, cluster);
    return offers;
}

}  // namespace goodput::traces
