#include "plan/proof_files.hpp"

#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/proof.hpp"
#include "plan/stopwatch.hpp"
#include "report/result_file.hpp"

namespace cli {

ProofFiles::ProofFiles(std::string path) : path_(std::move(path)) { ResultFile{path_}; }

Json ProofFiles::write(const goodput::AllotmentProblem& problem, const goodput::AllotResult& result,
                       double gap) const {
    const Stopwatch stopwatch;
    const goodput::Proof proof = goodput::write_proof(problem, result, {.gap = gap});
    const std::string path = line_ > 1 ? path_ + "." + std::to_string(line_) : path_;
    if (!proof.text.empty()) ResultFile(path).finish([&](std::ostream& file) { file << proof.text; });
    Json json;
    json["file"] = proof.text.empty() ? Json() : Json(path);
    json["closed"] = proof.closed;
    json["objective"] = proof.objective;
    json["bound"] = proof.bound;
    json["nodes"] = proof.nodes;
    json["bytes"] = proof.text.size();
    if (!proof.with_tolerance.empty()) json["with_tolerance"] = proof.with_tolerance;
    json["milliseconds"] = stopwatch.milliseconds();
    return json;
}

}  // namespace cli
