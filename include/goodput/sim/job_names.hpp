#ifndef GOODPUT_SIM_JOB_NAMES_HPP
#define GOODPUT_SIM_JOB_NAMES_HPP

// Which job of a world a scheduler speaks of: it knows names, a world indices.

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"

namespace goodput {

/// The jobs of a trace by their names.
class JobNames {
public:
    /// None.
    JobNames() = default;
    /// Of jobs with names of their own; of several of one name the first counts.
    explicit JobNames(std::span<const Job> jobs) {
        for (const Job& job : jobs) index_.emplace(job.name, index_.size());
    }
    /// The index of the job of that name; refuses any other (std::invalid_argument).
    [[nodiscard]] std::size_t index_of(const std::string& name) const {
        const auto found = index_.find(name);
        if (found == index_.end()) bad_input("world", "job", "'" + name + "'", "one of its trace");
        return found->second;
    }

private:
    std::map<std::string, std::size_t> index_;
};

}  // namespace goodput

#endif
