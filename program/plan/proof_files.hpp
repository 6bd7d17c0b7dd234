#ifndef GOODPUT_PROGRAM_PLAN_PROOF_FILES_HPP
#define GOODPUT_PROGRAM_PLAN_PROOF_FILES_HPP

#include <cstddef>
#include <string>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// Files of certificates: the first line's is FILE, that of line N is FILE.N.
class ProofFiles {
public:
    /// Finds out whether FILE can be written. Without a path nothing is ever written.
    explicit ProofFiles(std::string path);

    [[nodiscard]] bool wanted() const { return !path_.empty(); }
    /// Begins the next line.
    void next_line() { ++line_; }
    /// Writes the certificate of an answer to this gap, and says what it proves.
    Json write(const goodput::AllotmentProblem& problem, const goodput::AllotResult& result,
               double gap) const;

private:
    std::string path_;
    std::size_t line_ = 0;
};

}  // namespace cli

#endif
