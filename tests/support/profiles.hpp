#ifndef GOODPUT_TESTS_SUPPORT_PROFILES_HPP
#define GOODPUT_TESTS_SUPPORT_PROFILES_HPP

// Reads the measurements published with Sia: profiles/APPLICATION/placements-TYPE.csv and
// scalability-TYPE.csv. Finds columns by name, because their order differs between files. Throws a
// std::runtime_error that names the file if anything is missing or unreadable.

#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/sim/tabulated.hpp"

namespace support {

/// A CSV file of numbers: for each column name one text per row.
using Csv = std::map<std::string, std::vector<std::string>>;

inline Csv read_csv(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    const auto cells_of = [](std::string line) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        std::vector<std::string> cells;
        std::stringstream stream(line);
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        return cells;
    };
    std::string line;
    std::getline(file, line);
    const std::vector<std::string> names = cells_of(line);
    Csv csv;
    for (const std::string& name : names) csv[name];
    while (std::getline(file, line)) {
        const std::vector<std::string> cells = cells_of(line);
        if (cells.empty()) continue;
        if (cells.size() != names.size())
            throw std::runtime_error(path + ": a row has another number of cells than the header");
        for (std::size_t i = 0; i < cells.size(); ++i) csv[names[i]].push_back(cells[i]);
    }
    return csv;
}

inline const std::vector<std::string>& column(const Csv& csv, const std::string& name,
                                              const std::string& path) {
    const auto found = csv.find(name);
    if (found == csv.end()) throw std::runtime_error(path + ": no column '" + name + "'");
    return found->second;
}

template <class Number>
Number number(const std::string& text, const std::string& path) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw std::runtime_error(path + ": '" + text + "' is not a number");
    return value;
}

/// All measurements of one application on one GPU type.
struct Profile {
    std::vector<goodput::PlacementSample> placements;
    std::vector<goodput::ThroughputSample> scalability;

    [[nodiscard]] goodput::TabulatedThroughput table() const {
        return goodput::TabulatedThroughput(scalability, placements);
    }
};

/// `folder` is the folder of the application.
inline Profile read_profile(const std::string& folder, const std::string& type) {
    Profile profile;
    {
        const std::string path = folder + "/placements-" + type + ".csv";
        const Csv csv = read_csv(path);
        const auto &placement = column(csv, "placement", path), &batch = column(csv, "local_bsz", path),
                   &step = column(csv, "step_time", path), &sync = column(csv, "sync_time", path);
        for (std::size_t i = 0; i < placement.size(); ++i) {
            goodput::PlacementSample sample{{},
                                            number<int>(batch[i], path),
                                            number<double>(step[i], path),
                                            number<double>(sync[i], path)};
            for (const char digit : placement[i]) {
                if (digit < '1' || digit > '9')
                    throw std::runtime_error(path + ": placement " + placement[i]);
                sample.gpus_by_node.push_back(digit - '0');
            }
            profile.placements.push_back(sample);
        }
    }
    const std::string path = folder + "/scalability-" + type + ".csv";
    const Csv csv = read_csv(path);
    const auto &nodes = column(csv, "num_nodes", path), &gpus = column(csv, "num_replicas", path),
               &batch = column(csv, "local_bsz", path), &step = column(csv, "step_time", path),
               &sync = column(csv, "sync_time", path);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        profile.scalability.push_back({{number<int>(nodes[i], path), number<int>(gpus[i], path)},
                                       {number<int>(batch[i], path), 0},
                                       number<double>(step[i], path),
                                       number<double>(sync[i], path)});
    return profile;
}

}  // namespace support

#endif
