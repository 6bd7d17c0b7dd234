// `goodput replay --report`: the page.

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_report {

using Json = nlohmann::ordered_json;
using support::Program;

/// A replay's page and what --json says of it, by policy.
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

/// What is wrong with a page's tags: nothing if every element is closed, in order, and every attribute is
/// quoted. Leaves what scripts and style sheets say alone.
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

/// The page without what its scripts and style sheet say.
std::string without_code(const std::string& page) {
    std::string rest;
    std::size_t at = 0;
    while (true) {
        const std::size_t begin = std::min(page.find("<script", at), page.find("<style", at));
        rest += page.substr(at, begin - at);
        if (begin == std::string::npos) return rest;
        at = page.find(page[begin + 2] == 'c' ? "</script>" : "</style>", begin);
    }
}

/// The page without the figures that a clock gave.
std::string without_clocks(const std::string& page) {
    static const std::regex clocks("<td class=\"clock[^<]*</td>");
    return std::regex_replace(page, clocks, "");
}

Json data_of(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(begin);
    REQUIRE(at != std::string::npos);
    return Json::parse(page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size()));
}

/// The blocks of a policy's lanes: from, upper end, width, height; times in quanta, heights in GPUs.
using Block = std::array<long, 4>;
struct Lane {
    long end = 0, gpus = 0;
    std::vector<Block> blocks{};
};

std::vector<Lane> lanes_of(const std::string& page, std::size_t policy) {
    const std::size_t begin = page.find("id=\"gpus" + std::to_string(policy) + "\"");
    REQUIRE(begin != std::string::npos);
    const std::string picture = page.substr(begin, page.find("</section>", begin) - begin);
    std::vector<Lane> lanes;
    static const std::regex view("viewBox=\"0 0 ([0-9]+) ([0-9]+)\"[^>]* data-type=");
    static const std::regex block("M([0-9]+) ([0-9]+)h([0-9]+)v([0-9]+)h-([0-9]+)z");
    for (std::size_t at = picture.find("<svg class=\"view"); at != std::string::npos;) {
        const std::size_t next = picture.find("<svg class=\"view", at + 1);
        const std::string text = picture.substr(at, next == std::string::npos ? next : next - at);
        at = next;
        std::smatch size;
        if (!std::regex_search(text, size, view)) continue;  // prices
        Lane& lane = lanes.emplace_back(Lane{std::stol(size[1]), std::stol(size[2])});
        for (std::sregex_iterator i(text.begin(), text.end(), block), end; i != end; ++i) {
            CHECK((*i)[3] == (*i)[5]);
            lane.blocks.push_back(
                {std::stol((*i)[1]), std::stol((*i)[2]), std::stol((*i)[3]), std::stol((*i)[4])});
        }
    }
    return lanes;
}

TEST_CASE("a report is one well-formed page that needs nothing else and shows every policy") {
    const Report report = report_of({"--policy", "sia,fifo,pollux"});
    const std::string& page = report.page;
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(tag_problem(page) == "");
    for (const char* elsewhere : {"http", "src=", "@import", "url(", "<link", "fetch("})
        CHECK(count(page, elsewhere) == 0);
    const std::string body = without_code(page);
    for (const char* no_number : {"nan", "NaN", "inf\"", "inf<", "inf ", "-0.0<", "e-0", "e+0"})
        CHECK(count(body, no_number) == 0);

    static const std::regex link("href=\"([^\"]*)\"");
    for (std::sregex_iterator i(page.begin(), page.end(), link), end; i != end; ++i) {
        const std::string target = (*i)[1];
        CAPTURE(target);
        if (target.starts_with("data:text/csv;charset=utf-8,")) continue;  // a file in the page itself
        CHECK(target.starts_with("#"));
        CHECK(count(page, "id=\"" + target.substr(1) + "\"") == 1);
    }
    for (const std::string policy : {"sia", "fifo", "pollux"}) {
        CAPTURE(policy);
        CHECK(count(page, "<td>" + policy + "</td>") == 2);        // a row of either table
        CHECK(count(page, "<h2>" + policy + "</h2>") == 1);        // its GPUs and prices
        CHECK(count(page, ">" + policy + "</option>") == 2);       // to be compared
        CHECK(count(page, "<title>" + policy + "</title>") == 1);  // its curve of completion times
    }
    CHECK(count(page, "<title>cifar10 under sia: median ") == 1);

    // Nobody to be compared with, and none is the best of one.
    const Report alone = report_of({"--policy", "sia"});
    CHECK(tag_problem(alone.page) == "");
    CHECK(count(alone.page, "<select>") == 0);
    CHECK(count(alone.page, "class=\"best\"") == 0);
}

TEST_CASE("the best value of a column is marked, all of them where several are equal") {
    const Report report = report_of({"--policy", "fifo,sia,sia"});
    const double sia = report.answers.at("sia")["average_jct_h"];
    REQUIRE(sia < report.answers.at("fifo")["average_jct_h"].get<double>());
    std::ostringstream text;
    text.precision(3);
    text << std::fixed << sia;
    CHECK(count(report.page, "<td class=\"best\">" + text.str() + "</td>") == 2);
    CHECK(count(report.page, "<td class=\"best\">160</td>") == 0);  // all complete as many
}

TEST_CASE("the first line of a report is its result, and the page says how it was made") {
    const Report report = report_of({"--policy", "las,goodput,fifo", "--seed", "3"});
    double first = 1e9, second = 1e9;
    std::string best, next;
    for (const auto& [policy, answer] : report.answers) {
        const double hours = answer["average_jct_h"];
        if (hours < first) {
            second = first, next = best;
            first = hours, best = policy;
        } else if (hours < second) {
            second = hours, next = policy;
        }
    }
    const std::string per_cent = std::to_string(static_cast<int>(std::lround(100 * (1 - first / second))));
    CHECK(count(report.page, "<p class=\"result\">Jobs complete soonest under " + best + ",") == 1);
    CHECK(count(report.page, per_cent + " % sooner than under " + next + ", the next.</p>") == 1);
    CHECK(count(report.page,
                "<code>goodput replay --json --policy las,goodput,fifo --seed 3</code>, seed 3") == 1);
    const Report alone = report_of({"--policy", "fifo"});
    CHECK(count(alone.page, "<p class=\"result\">Under fifo a job completes on average ") == 1);
    const Report twins = report_of({"--policy", "las,las"});
    CHECK(count(twins.page, "<p class=\"result\">") == 1);
}

TEST_CASE("every section is linked in the order of the page, and every policy has a look of its own") {
    const Report report = report_of({"--cluster", "aws:2x4,rtx:1x8"});
    std::vector<std::size_t> places;
    const std::regex link("href=\"#([a-z0-9]+)\"");
    for (std::sregex_iterator at(report.page.begin(), report.page.end(), link), end; at != end; ++at) {
        places.push_back(report.page.find("id=\"" + (*at)[1].str() + "\""));
        CHECK(places.back() != std::string::npos);
    }
    CHECK(places.size() == 6 + report.answers.size());
    CHECK(std::is_sorted(places.begin(), places.end()));
    REQUIRE(report.answers.size() >= 10);
    for (std::size_t p = 0; p < report.answers.size(); ++p)
        CHECK(count(report.page, "<i class=\"p" + std::to_string(p) + "\"></i>") >= 3);
}

TEST_CASE("what a report offers to download is what --json says") {
    const Report report = report_of({"--policy", "las,fifo"});
    for (const auto& [policy, answer] : report.answers) {
        // In the page's data URLs a comma is %2C and a line's end %0A.
        std::ostringstream jobs;
        jobs << policy << "%2C" << answer["jobs"].get<int>() << "%2C" << answer["completed"].get<int>()
             << "%2C";
        CHECK(count(report.page, "%0A" + jobs.str()) == 1);
    }
    CHECK(count(report.page, "download=\"jobs.csv\"") == 1);
    CHECK(count(report.page, "%0Alas%2C") == 1 + 160);
}

TEST_CASE("equal input gives equal bytes but for what the clock says") {
    const std::vector<std::string> options{"--policy", "sia,pollux,tiresias"};
    const std::string first = without_clocks(report_of(options).page);
    CHECK(first == without_clocks(report_of(options).page));
    CHECK(count(first, "class=\"clock") == 0);
}

TEST_CASE("blocks show every GPU that was held: none twice, none that is not there, all of them together") {
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
        const bool with_events = run.with_events;
        const std::string moves = run.moves;
        std::vector<std::string> options{"--policy", "sia,fifo", "--moves", moves};
        if (with_events) options.insert(options.end(), {"--events", events});
        const Report report = report_of(options, folder);
        const Json data = data_of(report.page);
        const double quantum = data["quantum"];
        std::size_t index = 0;
        for (const std::string policy : {"sia", "fifo"}) {
            CAPTURE(policy);
            CAPTURE(with_events);
            CAPTURE(moves);
            const std::vector<Lane> lanes = lanes_of(report.page, index);
            REQUIRE(lanes.size() == 3);
            double gpu_hours = 0;
            for (const Lane& lane : lanes) {
                // GPUs by quantum, one bit each, so that two blocks cannot have the same.
                std::vector<unsigned long long> taken(static_cast<std::size_t>(lane.end));
                bool fits = true, twice = false;
                for (const auto& [from, top, width, height] : lane.blocks) {
                    fits = fits && from + width <= lane.end && top + height <= lane.gpus;
                    if (!fits) break;
                    for (long time = from; time < from + width; ++time)
                        for (long gpu = top; gpu < top + height; ++gpu) {
                            unsigned long long& now = taken[static_cast<std::size_t>(time)];
                            twice = twice || (now >> gpu & 1) != 0;
                            now |= 1ULL << gpu;
                        }
                    gpu_hours += static_cast<double>(width * height) * quantum / 3600;
                }
                CHECK(fits);
                CHECK_FALSE(twice);
            }
            const Json& answer = report.answers.at(policy);
            // Rests of rounds after a completion count as used, but nobody holds the GPUs any more.
            CHECK(gpu_hours <=
                  doctest::Approx(answer["gpu_hours_per_job"].get<double>() * 160).epsilon(0.001));
            CHECK(gpu_hours ==
                  doctest::Approx(answer["gpu_hours_per_job"].get<double>() * 160).epsilon(0.04));
            // Every restart is seen, whether a decision or a failure made it.
            const long restarts = std::lround(answer["restarts_per_job"].get<double>() * 160);
            CHECK(count(report.page, "<title>" + policy + ": " + std::to_string(restarts) + " restarts") ==
                  1);
            ++index;
        }
        CHECK(count(report.page, "class=\"capacity\"") == (with_events ? 4 : 0));
    }
}

TEST_CASE("the script finds every job's completion time under every policy") {
    const Report report = report_of({"--policy", "sia,las"});
    const Json data = data_of(report.page);
    REQUIRE(data["names"].size() == 160);
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
    CHECK(count(report.page, "&lt;i&gt;&amp;.csv") == 3);  // two in the head, one in the command
    CHECK(count(report.page, application) == 0);
    CHECK(count(without_code(report.page), escaped) >= 3);
    CHECK(count(report.page, "alert(1)</script>") == 0);
    CHECK(count(report.page, "<!--") == 0);
    const Json data = data_of(report.page);
    CHECK(data["applications"][0] == application);
    for (std::size_t i = 0; i < jobs.size(); ++i) CHECK(data["names"][i] == jobs[i]);
}

TEST_SUITE("data") {
    TEST_CASE("a page of 960 jobs over two days is a few megabytes at most, and well-formed") {
        const std::string folder = GOODPUT_DATA_DIR "/sia/";
        const Report report = report_of({"--workload", folder + "workloads/newtrace/workload-1.csv",
                                         "--profiles", folder + "profiles", "--policy", "sia"});
        CHECK(report.page.size() < 3'000'000);
        CHECK(tag_problem(report.page) == "");
        CHECK(data_of(report.page)["names"].size() == 960);
    }
}

}  // namespace cli_report
