#include "workload.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "csv.hpp"
#include "goodput/core/error.hpp"

namespace cli {

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
    std::stable_sort(workload.submissions.begin(), workload.submissions.end(),
                     [](const auto& a, const auto& b) { return a.time_seconds < b.time_seconds; });
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
    std::map<std::string, double> nodes;  // since when they are there
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
                if (!table.text(row, column).empty()) table.refuse(row, column, "empty but for node_added");
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
    // Nodes may be added further down than they fail: only now all names are known.
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

goodput::Cluster parse_cluster(const std::string& text) {
    const auto refuse = [&](std::string_view part) {
        goodput::bad_input("--cluster", "'" + std::string(part) + "'", std::string_view("no group of nodes"),
                           "of the form TYPE:NODESxGPUS, for example aws:6x4");
    };
    const auto number = [](std::string_view digits) {
        int value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool whole = error == std::errc{} && end == digits.data() + digits.size();
        return whole && value >= 1 && value <= 1 << 20 ? value : 0;
    };
    goodput::Cluster cluster;
    std::vector<int> count;  // nodes so far, by GPU type
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        const std::string_view part = std::string_view(text).substr(begin, comma - begin);
        begin = comma + 1;
        const std::size_t colon = part.rfind(':'), times = part.rfind('x');
        if (colon == 0 || colon == std::string_view::npos || times == std::string_view::npos || times < colon)
            refuse(part);
        const std::string type(part.substr(0, colon));
        const int nodes = number(part.substr(colon + 1, times - colon - 1)),
                  gpus = number(part.substr(times + 1));
        if (nodes == 0 || gpus == 0) refuse(part);
        const auto found = std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), type);
        const auto index = static_cast<std::size_t>(found - cluster.gpu_types.begin());
        if (found == cluster.gpu_types.end()) {
            cluster.gpu_types.push_back(type);
            count.push_back(0);
        }
        for (int node = 0; node < nodes; ++node)
            cluster.nodes.push_back({type + "-" + goodput::text_of(count[index]++), index, gpus});
    }
    return cluster;
}

std::vector<goodput::RentOffer> parse_offers(const std::string& text, const goodput::Cluster& cluster,
                                             double start_seconds) {
    std::vector<goodput::RentOffer> offers;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, comma - begin);
        begin = comma + 1;
        const auto refuse = [&](std::string_view wanted) {
            goodput::bad_input("--offers", "'" + part + "'", std::string_view("no offer of nodes"), wanted);
        };
        const auto number = [&](std::string_view digits) {
            double value = 0;
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
            if (error != std::errc{} || end != digits.data() + digits.size() || !(value >= 0 && value < 1e9))
                refuse("of the form TYPE:NODESxGPUS@PRICE_H[/spot][/MTBF_H], for example aws:6x4@3.91");
            return value;
        };
        const auto integer = [&](std::string_view digits, int least) {
            const double value = number(digits);
            if (value != std::floor(value) || value < least || value > 1 << 20)
                refuse("with whole numbers of nodes and GPUs");
            return static_cast<int>(value);
        };
        const std::size_t at = part.rfind('@'), colon = part.rfind(':', at), times = part.rfind('x', at);
        if (at == std::string::npos || colon == std::string::npos || times == std::string::npos ||
            times < colon)
            refuse("of the form TYPE:NODESxGPUS@PRICE_H[/spot][/MTBF_H], for example aws:6x4@3.91");
        const std::string_view view = part;
        goodput::RentOffer offer{.name = part.substr(0, colon), .start_seconds = start_seconds};
        const auto found = std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), offer.name);
        if (found == cluster.gpu_types.end()) refuse("of one of the cluster's GPU types");
        offer.gpu_type = static_cast<std::size_t>(found - cluster.gpu_types.begin());
        offer.most_nodes = integer(view.substr(colon + 1, times - colon - 1), 0);
        offer.gpus = integer(view.substr(times + 1, at - times - 1), 1);
        std::string_view rest = view.substr(at + 1);
        for (bool first = true; !rest.empty(); first = false) {
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            const std::string_view word = rest.substr(0, slash);
            rest.remove_prefix(std::min(slash + 1, rest.size()));
            if (first) {
                offer.dollars_per_hour = number(word);
            } else if (word == "spot") {
                offer.spot = true;
                offer.name += "-spot";
            } else {
                const double hours = number(word);
                if (!(hours > 0)) refuse("with more than 0 hours from one loss to the next");
                offer.interruptions_per_hour = 1 / hours;
            }
        }
        for (const goodput::RentOffer& other : offers)
            if (other.name == offer.name) offer.name += "-" + goodput::text_of(offer.gpus);
        offers.push_back(std::move(offer));
    }
    goodput::validate(offers, cluster);
    return offers;
}

}  // namespace cli
