// The main program of the properties: doctest, and a count of failures for properties.hpp.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "properties.hpp"

namespace {

/// Reports failures to properties.hpp. Everything else is left to doctest's own reporter.
struct FailureCounter : doctest::IReporter {
    explicit FailureCounter(const doctest::ContextOptions&) {}
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_start(const doctest::TestCaseData&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override { ++properties::failures; }
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& assertion) override {
        if (assertion.m_failed) ++properties::failures;
    }
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("failures", 1, FailureCounter);
