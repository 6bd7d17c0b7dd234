// Certificates of allotments are proofs, and say the truth about themselves. check_proof.py, which shares no
// code with the library, checks those that the program writes.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/proof.hpp"
#include "goodput/proving.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/certificate.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

TEST_CASE_TEMPLATE("numbers are exact", Whole, detail::NarrowNumber, detail::WholeNumber) {
    Random random(48);
    const auto text_of = [](double number, int bits) {
        detail::ProofText text;
        text.fraction(detail::scaled<Whole>(number, bits), bits);
        return text.take();
    };
    CHECK(text_of(0, 10) == "0");
    CHECK(text_of(-0.75, 10) == "-3/4");
    CHECK(text_of(12, 3) == "12");
    CHECK(text_of(0.1, 60) == "3602879701896397/36028797018963968");
    CHECK(text_of(0x1p100, 0) == "1267650600228229401496703205376");
    CHECK(text_of(-0x1p-70, 70) == "-1/1180591620717411303424");
    CHECK(text_of(2.5, 0) == "3");
    for (int round = 0; round < 1000; ++round) {
        const bool narrow = std::is_same_v<Whole, detail::NarrowNumber>;
        const double number =
            random.between(-1, 1) * std::pow(10, narrow ? random.integer(-8, 8) : random.integer(-200, 100));
        const int bits = detail::fraction_bits(number);
        CAPTURE(number);
        REQUIRE(detail::to_double(detail::scaled<Whole>(number, bits), bits) == number);
        REQUIRE((bits == 0 || detail::scaled<Whole>(number, bits) % 2 != 0));
        const detail::WholeNumber whole = detail::scaled<detail::WholeNumber>(number, bits + 60);
        REQUIRE(detail::double_above(whole, bits + 60) == number);
        REQUIRE(detail::double_above(detail::WholeNumber(whole + 1), bits + 60) ==
                std::nextafter(number, std::numeric_limits<double>::infinity()));
    }
}

TEST_CASE("whole numbers of every length are written alike") {
    Random random(49);
    for (int bits = 0; bits < 127; ++bits)
        for (int round = 0; round < 30; ++round) {
            detail::WholeNumber number = 1;
            for (int bit = 0; bit < bits; ++bit) number = number * 2 + random.integer(0, 1);
            if (round < 2) number = (detail::WholeNumber(1) << static_cast<unsigned>(bits)) - round;
            if (round % 3 == 0) number = -number;
            detail::ProofText wide, narrow;
            wide.whole(number);
            narrow.whole(number.convert_to<detail::NarrowNumber>());
            REQUIRE(wide.view() == number.str());
            REQUIRE(narrow.view() == number.str());
            if (number != 0) {
                REQUIRE(detail::bits_of(number) ==
                        detail::bits_of(number.convert_to<detail::NarrowNumber>()));
                REQUIRE(detail::twos_in(number) ==
                        detail::twos_in(number.convert_to<detail::NarrowNumber>()));
            }
        }
    for (std::size_t number = 1; number < std::size_t{1} << 62; number = number * 10 + random.integer(0, 9)) {
        detail::ProofText text;
        text.entry(number - 1);
        text.entry(number, false);
        CHECK(text.take() == " " + std::to_string(number - 1) + " 1 " + std::to_string(number) + " -1");
    }
}

TEST_CASE("small problems: the certificate proves the answer, and no more than is true") {
    Random random(20261128);
    int searched = 0, infeasible = 0;
    for (int round = 0; round < support::trials(3000); ++round) {
        CAPTURE(round);
        const AllotmentProblem problem = support::small_problem(random);
        const double best = support::BruteForce{}(problem);
        const double gap = round % 2 == 0 ? 0 : 1e-3;
        const AllotResult result = ProvingAllotter()(problem, {.gap = gap});
        const Proof proof = write_proof(problem, result, {.gap = gap});
        const double tolerance = 1e-11 * support::scale_of(problem);
        REQUIRE(proof.closed);
        REQUIRE(support::Certificate::complaint(proof.text) == "");
        searched += proof.nodes > 1 ? 1 : 0;
        if (std::isinf(best)) {
            ++infeasible;
            REQUIRE(proof.text.find("RTP infeas\nSOL 0") != std::string::npos);
            continue;
        }
        REQUIRE(std::abs(proof.objective - result.objective) <= tolerance);
        REQUIRE(proof.bound >= best - tolerance);
        REQUIRE(proof.bound <=
                std::max(result.bound, result.objective + gap * std::abs(result.objective)) + tolerance);
    }
    CHECK(searched > 20);
    CHECK(infeasible > 20);
}

TEST_CASE("problems as clusters pose them") {
    Random random(7);
    for (int round = 0; round < 12; ++round) {
        CAPTURE(round);
        const AllotmentProblem problem =
            round % 2 == 0 ? support::cluster_problem(random, 64) : support::limits_problem(random, 100);
        const AllotResult result = ProvingAllotter()(problem);
        REQUIRE(result.status == AllotStatus::optimal);
        const Proof proof = write_proof(problem, result);
        CHECK(proof.closed);
        CHECK(support::Certificate::complaint(proof.text) == "");
    }
}

TEST_CASE("nothing to allot") {
    AllotmentProblem problem;
    CHECK(write_proof(problem, allot(problem)).closed);
    problem.capacity = {3};
    problem.add_job();
    const Proof nothing = write_proof(problem, allot(problem));
    CHECK(nothing.closed);
    CHECK(nothing.bound == 0);
    problem.add_job(true);  // a job without options
    const Proof impossible = write_proof(problem, allot(problem));
    CHECK(impossible.closed);
    CHECK(impossible.text.find("RTP infeas") != std::string::npos);
}

TEST_CASE("numbers of all sizes") {
    AllotmentProblem problem{.capacity = {1e150, 3e-310}};
    for (int job = 0; job < 3; ++job) {
        problem.add_job();
        problem.add_option(1e150, {{0, 6e149}});
        problem.add_option(5e-324, {{1, 1e-310}});
        problem.add_option(1, {{0, 1e-300}, {1, 2e-310}});
    }
    const AllotResult result = ProvingAllotter()(problem);
    REQUIRE(found_allotment(result.status));
    const Proof proof = write_proof(problem, result);
    CHECK(support::Certificate::complaint(proof.text) == "");
    CHECK(proof.bound >= result.objective);
}

TEST_CASE("the answer to another problem is refused") {
    AllotmentProblem problem{.capacity = {1}};
    const AllotResult result = allot(problem);
    problem.add_job();
    CHECK_THROWS_AS((void)write_proof(problem, result), std::invalid_argument);
}

TEST_CASE("an answer that needs the solver's tolerance says so") {
    AllotmentProblem problem{.capacity = {0.3, 5}};
    for (int job = 0; job < 3; ++job) {
        problem.add_job();
        problem.add_option(1, {{0, 0.1}, {1, 1}});
    }
    const AllotResult result = allot(problem);
    REQUIRE(result.objective == 3);
    const Proof proof = write_proof(problem, result);
    CHECK(proof.closed);
    CHECK(proof.with_tolerance == std::vector<std::size_t>{0});
    CHECK(proof.text.find("% The right side of c0 includes") != std::string::npos);
    problem.capacity[0] = 0.31;
    CHECK(write_proof(problem, allot(problem)).with_tolerance.empty());
}

TEST_CASE("a search that is cut off leaves a larger bound, and says so") {
    Random random(3);
    int open = 0;
    for (int round = 0; round < 20; ++round) {
        const AllotmentProblem problem = support::assignment_problem(random, 3, 8, 0.9);
        const AllotResult result = ProvingAllotter()(problem, {.gap = 0});
        if (!found_allotment(result.status)) continue;
        const Proof proof = write_proof(problem, result, {.most_states = 0});
        CHECK(proof.bound >= result.bound - 1e-9);
        CHECK(proof.closed == (proof.bound <= result.bound + 1e-9));
        CHECK(support::Certificate::complaint(proof.text) == "");
        open += proof.closed ? 0 : 1;
        CHECK(write_proof(problem, result).closed);
        const Proof late = write_proof(problem, result, {.deadline = std::chrono::nanoseconds(0)});
        CHECK(late.bound >= result.bound - 1e-9);
    }
    CHECK(open > 5);
}
