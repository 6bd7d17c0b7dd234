// Tests the page that `goodput replay --report` writes.

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/result_file.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_report {

using Json = nlohmann::ordered_json;
using support::Program;

/// A replay's page, and what --json says about it, by policy.
struct Report {
    std::string page{};
    std::map<std::string, Json> answers{};
};

Report report_of(std::vector<std::string> options, const support::Folder& folder = support::Folder()) {
    options.insert(options.begin(), {GOODPUT_PROGRAM, "replay", "--json"});
    options.insert(options.end(), {"--report", folder.path("report.html")});
    const Program::End end = Program(std::move(options)).finish();
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    Report report{folder.read("report.html")};
    std::istringstream lines(end.output);
    for (std::string line; std::getline(lines, line);) {
        const Json answer = Json::parse(line);
        report.answers[answer["policy"]] = answer;
    }
    return report;
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// Returns what is wrong with a page's tags: nothing if every element is closed, in order, and every
/// attribute is quoted. Ignores scripts and style sheets.
std::string tag_problem(std::string_view page) {
    std::vector<std::string> open;
    for (std::size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at)) {
        if (page.substr(at).starts_with("<!DOCTYPE html>")) {
            ++at;
            continue;
        }
        const bool closes = page[at + 1] == '/';
        std::size_t end = at + (closes ? 2 : 1);
        const std::size_t name_begin = end;
        while (end < page.size() && (std::isalnum(static_cast<unsigned char>(page[end])) != 0)) ++end;
        const std::string name(page.substr(name_begin, end - name_begin));
        if (name.empty()) return "a '<' without a name: " + std::string(page.substr(at, 40));
        bool in_quotes = false;
        while (end < page.size() && (in_quotes || page[end] != '>')) {
            if (page[end] == '"') in_quotes = !in_quotes;
            if (!in_quotes && page[end] == '<')
                return "a tag within a tag: " + std::string(page.substr(at, 80));
            if (page[end] == '=' && !in_quotes && page[end + 1] != '"') return "no quotes in <" + name;
            ++end;
        }
        if (end >= page.size()) return "<" + name + " has no end";
        const bool empty = page[end - 1] == '/';
        at = end + 1;
        if (closes) {
            if (open.empty() || open.back() != name)
                return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
            open.pop_back();
        } else if (!empty && name != "meta" && name != "input") {
            open.push_back(name);
            if (name == "script" || name == "style") at = page.find("</" + name, at);
        }
    }
    return open.empty() ? "" : "<" + open.back() + "> stays open";
}

Json data_of(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(begin);
    REQUIRE(at != std::string::npos);
    return Json::parse(page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size()));
}

/// Returns the embedded data without the figures that come from a clock.
Json without_clocks(Json data) {
    for (Json& policy : data["policies"])
        for (const char* name : {"policy_ms_median", "policy_ms_p99", "policy_s"}) {
            REQUIRE(policy["figures"].contains(name));
            policy["figures"].erase(name);
        }
    return data;
}

const Json& chart_of(const Json& data, const std::string& name) {
    for (const Json& chart : data["charts"])
        if (chart["name"] == name) return chart;
    FAIL("no chart ", name);
    return data;
}

TEST_CASE("a report is one well-formed page that loads nothing") {
    const Report report = report_of({"--policy", "sia,fifo,pollux"});
    const std::string& page = report.page;
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(tag_problem(page) == "");
    CHECK(count(page, "{{") == 0);  // every part was filled in
    CHECK(count(page, "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';") == 1);
    for (const char* elsewhere : {"src=", "@import", "url(", "<link", "fetch(", "XMLHttpRequest", "import("})
        CHECK(count(page, elsewhere) == 0);
    // Addresses may occur only as names: of the libraries in their notices, and of SVG.
    static const std::regex address("https?://[^\"' \\n]*");
    for (std::sregex_iterator i(page.begin(), page.end(), address), end; i != end; ++i) {
        const std::string found = i->str();
        CAPTURE(found);
        CHECK((found == "https://www.chartjs.org" || found == "https://github.com/kurkle/color#readme" ||
               found == "http://www.w3.org/2000/svg"));
    }
    // The licence requires this.
    CHECK(count(page, "Chart.js Contributors") == 1);
    CHECK(count(page, "The above copyright notice and this permission notice shall be included") == 1);
}

TEST_CASE("the page contains every figure of --json") {
    const Report report = report_of({"--policy", "sia,fifo,pollux", "--interval", "120"});
    const Json data = data_of(report.page);
    REQUIRE(data["policies"].size() == 3);
    for (const Json& policy : data["policies"]) {
        const Json& answer = report.answers.at(policy["name"]);
        REQUIRE(answer.size() > 20);
        CHECK(policy["figures"] == answer);
    }
    CHECK(data["command"] == "goodput replay --json --policy sia,fifo,pollux --interval 120");
    CHECK(data["seed"] == 0);
}

TEST_CASE("a page begins with its result in a sentence") {
    const Report report = report_of({"--policy", "las,goodput,sia,fifo", "--seed", "3"});
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [policy, answer] : report.answers)
        order.emplace_back(answer["average_jct_h"].get<double>(), policy);
    std::sort(order.begin(), order.end());
    const auto less = [&](double hours) {
        return std::to_string(static_cast<int>(std::lround(100 * (1 - order[0].first / hours)))) + " %";
    };
    std::ostringstream hours;
    hours.precision(2);
    hours << std::fixed << order[0].first;
    const double sia = report.answers.at("sia")["average_jct_h"];
    std::string sentence = "Jobs complete soonest under " + order[0].second + ", on average " + hours.str() +
                           " hours after their submission: in " + less(order[1].first) +
                           " less time than under " + order[1].second + ", the next";
    if (order[0].second != "sia" && order[1].second != "sia")
        sentence += ", and in " + less(sia) + " less than under sia";
    CAPTURE(report.page.substr(report.page.find("<p class=\"result\">"), 300));
    CHECK(count(report.page, "<p class=\"result\">" + sentence + ".</p>") == 1);

    const Report alone = report_of({"--policy", "fifo"});
    CHECK(count(alone.page, "<p class=\"result\">Under fifo jobs complete, on average ") == 1);
    const Report twins = report_of({"--policy", "las,las"});
    CHECK(count(twins.page, "<p class=\"result\">Jobs complete equally soon under las and las, ") == 1);
}

TEST_CASE("at first the page compares the best of our policies with Sia's") {
    const auto shown = [](const std::string& policies) {
        const Report report = report_of({"--policy", policies});
        const Json data = data_of(report.page);
        std::vector<std::string> names;
        for (const Json& policy : data["compare"])
            names.push_back(data["policies"][policy.get<std::size_t>()]["name"]);
        return names;
    };
    using Names = std::vector<std::string>;
    CHECK(shown("sia,sia-refined,goodput,fifo") == Names{"goodput", "sia"});
    CHECK(shown("fifo,goodput,las") == Names{"goodput", "fifo"});
    CHECK(shown("sia,fifo") == Names{"sia", "fifo"});
    CHECK(shown("fifo") == Names{"fifo", "fifo"});
}

TEST_CASE("time axes end when only one policy is left") {
    const auto data_under = [](const std::string& policies) {
        return data_of(report_of({"--policy", policies}).page);
    };
    const auto end_of = [](const Json& data, std::size_t policy) {
        double end = 0;
        for (std::size_t job = 0; job < data["jobs"]["names"].size(); ++job)
            end = std::max(end, data["jobs"]["submitted_h"][job].get<double>() +
                                    data["policies"][policy]["hours"][job].get<double>());
        return end;
    };
    const Json both = data_under("goodput,las");  // las keeps a job for days
    const double first = end_of(both, 0), last = end_of(both, 1);
    REQUIRE(last > 1.5 * first);
    CHECK(both["shown_h"].get<double>() == doctest::Approx(first).epsilon(0.01));
    CHECK(both["end_h"].get<double>() >= last - 0.001);
    for (const char* name : {"waiting", "held", "restarts"}) {
        const Json& chart = chart_of(both, name);
        CHECK(chart["x_most"].get<double>() == doctest::Approx(both["shown_h"].get<double>()).epsilon(1e-4));
        CHECK(chart["lines"][1]["end"].get<double>() > 1.4 * first);  // the rest is there
    }
    const Json alone = data_under("las");
    CHECK(alone["shown_h"].get<double>() == doctest::Approx(end_of(alone, 0)).epsilon(0.01));
}

TEST_CASE("lines of charts agree with the single numbers of --json") {
    const Report report = report_of({"--policy", "sia,las"});
    const Json data = data_of(report.page);
    for (std::size_t p = 0; p < 2; ++p) {
        const Json& answer = report.answers.at(data["policies"][p]["name"]);
        const auto area = [&](const Json& line) {
            const Json& points = line["points"];
            double sum = 0;
            for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
                const double until = i + 2 < points.size() ? points[i + 2] : line["end"];
                sum += points[i + 1].get<double>() * (until - points[i].get<double>());
            }
            return sum;
        };
        for (const Json& chart : data["charts"]) {
            const Json& line = chart["lines"][p];
            CAPTURE(chart["name"].get<std::string>());
            CHECK(line["name"] == data["policies"][p]["name"]);
            double last = -1;
            for (std::size_t i = 0; i < line["points"].size(); i += 2) {
                CHECK(line["points"][i].get<double>() > last);
                last = line["points"][i];
            }
        }
        const auto last_of = [&](const char* name) {
            return chart_of(data, name)["lines"][p]["points"].back().get<double>();
        };
        CHECK(last_of("completions") == 100);
        CHECK(last_of("restarts-by-job") == 100);
        CHECK(last_of("waiting") == 0);
        CHECK(last_of("restarts") == doctest::Approx(160 * answer["restarts_per_job"].get<double>()));
        CHECK(area(chart_of(data, "waiting")["lines"][p]) ==
              doctest::Approx(160 * answer["queueing_h"].get<double>()).epsilon(0.01));
        // Means over parts of the time must have the area of what was held.
        CHECK(area(chart_of(data, "held")["lines"][p]) / 100 ==
              doctest::Approx(answer["utilisation"].get<double>() * answer["makespan_h"].get<double>())
                  .epsilon(0.02));
        // The mean over jobs, from the curve of completion times.
        const Json& completions = chart_of(data, "completions")["lines"][p];
        const double above = 100 * completions["end"].get<double>() - area(completions);
        const double least = completions["points"][0];
        CHECK((above - 100 * least) / 100 + least ==
              doctest::Approx(answer["average_jct_h"].get<double>()).epsilon(0.01));
    }
}

TEST_CASE("equal input gives equal bytes, except for times of the clock") {
    const std::vector<std::string> options{"--policy", "sia,pollux,tiresias"};
    const std::string first = report_of(options).page, second = report_of(options).page;
    CHECK(without_clocks(data_of(first)).dump() == without_clocks(data_of(second)).dump());
    const auto frame = [](const std::string& page) { return page.substr(0, page.find("id=\"data\"")); };
    CHECK(frame(first) == frame(second));
}

TEST_CASE("blocks show every GPU that was held: none twice, none that does not exist, and all together") {
    const support::Folder folder;
    const std::string events = folder.write("events.csv",
                                            "time,event,subject,gpu_type,gpus\n"
                                            "900,job_fails,cifar10-0,,\n3600,node_fails,A100-0,,\n"
                                            "7200,node_drains,T4-1,,\n10800,node_returns,A100-0,,\n"
                                            "14400,node_added,new-0,A100,8\n");
    struct Run {
        bool with_events;
        const char* moves;
    };
    for (const Run& run :
         {Run{false, "free"}, Run{true, "free"}, Run{false, "restart"}, Run{true, "restart"}}) {
        std::vector<std::string> options{"--policy", "sia,fifo", "--moves", run.moves};
        if (run.with_events) options.insert(options.end(), {"--events", events});
        const Report report = report_of(options, folder);
        const Json data = data_of(report.page);
        const double quantum = data["quantum_s"];
        const long end = std::lround(data["end_h"].get<double>() * 3600 / quantum) + 1;
        REQUIRE(data["gpu_types"].size() == 3);
        for (const Json& policy : data["policies"]) {
            CAPTURE(policy["name"].get<std::string>());
            CAPTURE(run.with_events);
            CAPTURE(run.moves);
            REQUIRE(policy["lanes"].size() == 3);
            double gpu_hours = 0;
            std::size_t changes = 0;
            for (std::size_t type = 0; type < 3; ++type) {
                const long gpus = data["gpu_types"][type]["gpus"];
                const Json& lane = policy["lanes"][type];
                changes += lane["capacity"].size() / 2 - 1;
                // GPUs by quantum, one bit each, so that two blocks with the same GPU are noticed.
                std::vector<unsigned long long> taken(static_cast<std::size_t>(end));
                bool fits = true, twice = false;
                const std::vector<long> blocks = lane["blocks"];
                REQUIRE(blocks.size() % 5 == 0);
                for (std::size_t i = 0; i < blocks.size() && fits; i += 5) {
                    const long from = blocks[i + 1], to = blocks[i + 2], first = blocks[i + 3],
                               count = blocks[i + 4];
                    fits = blocks[i] >= 0 && blocks[i] < 160 && from < to && to <= end && first >= 0 &&
                           count > 0 && first + count <= gpus;
                    for (long time = from; fits && time < to; ++time)
                        for (long gpu = first; gpu < first + count; ++gpu) {
                            unsigned long long& now = taken[static_cast<std::size_t>(time)];
                            twice = twice || (now >> gpu & 1) != 0;
                            now |= 1ULL << gpu;
                        }
                    gpu_hours += static_cast<double>((to - from) * count) * quantum / 3600;
                }
                CHECK(fits);
                CHECK_FALSE(twice);
            }
            const Json& answer = report.answers.at(policy["name"]);
            // After a completion, the rest of the round counts as used, but no job holds the GPUs any more.
            CHECK(gpu_hours <=
                  doctest::Approx(answer["gpu_hours_per_job"].get<double>() * 160).epsilon(0.001));
            CHECK(gpu_hours ==
                  doctest::Approx(answer["gpu_hours_per_job"].get<double>() * 160).epsilon(0.04));
            // Every restart is visible, whether a decision or a failure caused it.
            CHECK(policy["restart_times"].size() / 2 ==
                  static_cast<std::size_t>(std::lround(answer["restarts_per_job"].get<double>() * 160)));
            CHECK((changes > 0) == run.with_events);
        }
    }
}

TEST_CASE("the page has every job's completion time under every policy") {
    const Report report = report_of({"--policy", "sia,las"});
    const Json data = data_of(report.page);
    REQUIRE(data["jobs"]["names"].size() == 160);
    REQUIRE(data["policies"].size() == 2);
    for (const Json& policy : data["policies"]) {
        REQUIRE(policy["hours"].size() == 160);
        double sum = 0;
        for (const Json& hours : policy["hours"]) sum += hours.get<double>();
        CHECK(
            sum / 160 ==
            doctest::Approx(report.answers.at(policy["name"])["average_jct_h"].get<double>()).epsilon(0.001));
    }
}

TEST_CASE("names from files are text, whatever they contain") {
    const support::Folder folder;
    const std::string application = "<b>&\"x' --!>", escaped = "&lt;b&gt;&amp;&quot;x&#39; --!&gt;";
    const std::vector<std::string> jobs{"</script><script>alert(1)</script>", "<!--", "a\\\"b\\", "\x01\x7f",
                                        "\xC3\xA9t\xC3\xA9"};
    std::string trace = "name,time,application,num_replicas,batch_size\n";
    for (std::size_t i = 0; i < jobs.size(); ++i)
        trace += jobs[i] + "," + std::to_string(10 * i) + "," + application + ",1,64\n";
    const std::string profiles = "profiles/" + application;
    folder.write(profiles + "/placements-gpu.csv",
                 "placement,local_bsz,step_time,sync_time\n1,16,0.2,0.001\n1,32,0.3,0.001\n2,32,0.4,0.1\n");
    folder.write(profiles + "/scalability-gpu.csv",
                 "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,16,0.3,0.1\n");
    folder.write(profiles + "/validation-32.csv", "progress,grad_sqr,grad_var\n100,1,2\n250,1,4\n");
    folder.write(profiles + "/validation-64.csv", "progress,grad_sqr,grad_var\n110,1,2\n240,1,4\n");
    const Report report = report_of({"--workload", folder.write("<i>&.csv", trace), "--profiles",
                                     folder.path("profiles"), "--cluster", "gpu:1x2", "--policy", "sia,fifo"},
                                    folder);
    CHECK(tag_problem(report.page) == "");
    CHECK(count(report.page, "<i>&.csv") == 0);
    CHECK(count(report.page, "&lt;i&gt;&amp;.csv") == 2);  // in the head and above the result
    CHECK(count(report.page, application) == 0);
    CHECK(count(report.page, "<script>alert(1)") == 0);
    CHECK(count(report.page, "alert(1)</script>") == 0);
    CHECK(count(report.page, "<!--") == 0);
    CHECK(count(report.page, "<script") == count(report.page, "</script>"));
    const Json data = data_of(report.page);
    CHECK(data["applications"][0] == application);
    for (std::size_t i = 0; i < jobs.size(); ++i) CHECK(data["jobs"]["names"][i] == jobs[i]);
}

TEST_SUITE("data") {
    TEST_CASE("a page of 960 jobs over two days is a few megabytes at most, and well-formed") {
        const std::string folder = GOODPUT_DATA_DIR "/sia/";
        const Report report = report_of({"--workload", folder + "workloads/newtrace/workload-1.csv",
                                         "--profiles", folder + "profiles", "--policy", "sia"});
        CHECK(report.page.size() < 3'000'000);
        CHECK(tag_problem(report.page) == "");
        CHECK(data_of(report.page)["jobs"]["names"].size() == 960);
    }
}

TEST_CASE("an interrupted replay does not change old files, and keeps the policies that are complete") {
    const support::Folder folder;
    const std::vector<std::string> names{"report.html", "t.csv", "t.tex"};
    const std::vector<std::string> ends{"</html>\n", "\n", "\\end{tabular}\n"};
    std::vector<std::string> options{GOODPUT_PROGRAM, "replay", "--json", "--policy", "fifo"};
    for (int more = 0; more < 20; ++more) options.back() += ",pollux";  // this takes seconds
    for (std::size_t f = 0; f < 3; ++f)
        options.insert(options.end(), {std::vector<std::string>{"--report", "--csv", "--latex"}[f],
                                       folder.write(names[f], "of yesterday")});
    const auto saved = [&](std::size_t f) { return folder.read(names[f] + ".part"); };
    {
        Program program(options);
        CHECK(Json::parse(program.ask(""))["policy"] == "fifo");
        for (int wait = 0; wait < 2000 && !saved(0).ends_with(ends[0]); ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }  // the program is killed here
    for (std::size_t f = 0; f < 3; ++f) {
        CAPTURE(names[f]);
        CHECK(folder.read(names[f]) == "of yesterday");
        CHECK(saved(f).find("fifo") != std::string::npos);
        CHECK(saved(f).ends_with(ends[f]));
    }
    options[4] = "las,fifo";
    REQUIRE(Program(options).finish().status == 0);
    for (std::size_t f = 0; f < 3; ++f) {
        CAPTURE(names[f]);
        CHECK(folder.read(names[f]).find("las") != std::string::npos);
        CHECK(folder.read(names[f]).ends_with(ends[f]));
        CHECK_FALSE(std::filesystem::exists(folder.path(names[f] + ".part")));
    }
}

TEST_CASE("a file of results is replaced at the end; a link stays one, and a pipe is written to") {
    const support::Folder folder;
    const std::string path = folder.write("a.csv", "old"), link = folder.path("link.csv");
    std::filesystem::permissions(path,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::create_symlink("a.csv", link);
    {
        cli::ResultFile file(link);
        CHECK(folder.read("a.csv") == "old");
        CHECK_FALSE(std::filesystem::exists(path + ".part"));
        file.save([](std::ostream& out) { out << "half"; });
        CHECK(folder.read("a.csv") == "old");
        CHECK(folder.read("a.csv.part") == "half");
        file.finish([](std::ostream& out) { out << "whole"; });
    }
    CHECK(folder.read("a.csv") == "whole");
    CHECK(std::filesystem::is_symlink(link));
    CHECK(std::filesystem::status(path).permissions() ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    CHECK_FALSE(std::filesystem::exists(path + ".part"));
    cli::ResultFile("").finish([](std::ostream&) { FAIL("there is no file"); });

    const std::string pipe = folder.path("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::fstream reader(pipe);  // opened for reading and writing, so that neither end waits
    cli::ResultFile to_pipe(pipe);
    to_pipe.save([](std::ostream& out) { out << "half\n"; });
    to_pipe.finish([](std::ostream& out) { out << "whole\n"; });
    std::string line;
    std::getline(reader, line);
    CHECK(line == "whole");
    CHECK(std::filesystem::is_fifo(pipe));

    for (const std::string& bad : {folder.path("no/such/t.csv"), folder.path()})
        CHECK_THROWS_WITH((void)cli::ResultFile(bad), doctest::Contains("cannot be written"));
    CHECK_THROWS_WITH(cli::ResultFile("/dev/full").finish([](std::ostream& out) { out << "x"; }),
                      doctest::Contains("/dev/full: cannot be written"));
}

}  // namespace cli_report
