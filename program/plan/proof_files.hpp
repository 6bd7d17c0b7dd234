#ifndef GOODPUT_PROGRAM_PLAN_PROOF_FILES_HPP
#define GOODPUT_PROGRAM_PLAN_PROOF_FILES_HPP

#include <cstddef>
#include <string>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// The files of certificates. The first line's file is FILE, and line N has FILE.N.
class ProofFiles {
public:
    /// Checks whether FILE can be written. Without a path, nothing is ever written.
    explicit ProofFiles(std::string path);

    [[nodiscard]] bool wanted() const { return !path_.empty(); }
    /// Begins the next line.
    void next_line() { ++line_; }
    /// Writes the certificate of an answer for this gap. Returns what it proves.
    Json write(const goodput::AllotmentProblem& problem, const goodput::AllotResult& result,
               double gap) const;

private:
    std::string path_;
    std::size_t line_ = 0;
};

}  // namespace cli

#endif
