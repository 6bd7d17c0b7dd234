// Measures how far off the remaining training is if it is predicted from learning curves.
//
//     learning_curves FOLDER             of validation-*.csv by application, as published with Sia
//     learning_curves FOLDER --json      an application's first curve and its forecasts, for the picture
//
// Every curve is cut after a part of it. Its target is the mean of its last twentieth, and the remainder
// counts up to where the curve first reaches the target. "earlier": also uses the totals of the
// application's other curves, each held out from its own.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "goodput/tasks/learning_curve.hpp"

namespace {

using goodput::CurvePoint;

struct Curve {
    std::string application, file;
    std::vector<CurvePoint> points;
    goodput::CurveTarget target;
    double total = 0;  ///< where on the curve the target is first reached
};

std::vector<Curve> read_curves(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().filename().string().starts_with("validation-")) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<Curve> curves;
    for (const auto& file : files) {
        std::ifstream in(file);
        std::string line, cell;
        std::getline(in, line);
        Curve curve{file.parent_path().filename().string(), file.filename().string(), {}, {}, 0};
        while (std::getline(in, line)) {
            std::istringstream row(line);
            std::vector<double> values;
            while (std::getline(row, cell, ',')) values.push_back(std::stod(cell));
            curve.points.push_back({values.at(0), values.at(2)});
        }
        const std::size_t n = curve.points.size();
        if (n < 10) continue;
        const std::size_t tail = std::max<std::size_t>(n / 20, 1);
        double mean = 0, begin = 0;
        for (std::size_t i = n - tail; i < n; ++i) mean += curve.points[i].metric / static_cast<double>(tail);
        for (std::size_t i = 0; i < tail; ++i) begin += curve.points[i].metric / static_cast<double>(tail);
        curve.target = {mean, mean >= begin};
        for (const CurvePoint& point : curve.points)
            if (curve.target.higher_is_better ? point.metric >= mean : point.metric <= mean) {
                curve.total = point.position;
                break;
            }
        curves.push_back(curve);
    }
    return curves;
}

struct Tally {
    std::vector<double> off, off_total;
    int within = 0, cases = 0;
    void print(const std::string& name) {
        std::sort(off.begin(), off.end());
        std::sort(off_total.begin(), off_total.end());
        std::cout << "  " << std::left << std::setw(24) << name << std::right << std::setw(5) << cases
                  << " curves, remaining off by " << std::setw(5) << 100 * off[off.size() / 2]
                  << " % in the median, totals by " << std::setw(5) << 100 * off_total[off_total.size() / 2]
                  << " %, within 80 % intervals " << 100.0 * within / cases << " %\n";
    }
    void add(const goodput::CurveForecast& forecast, double remaining, double total) {
        off.push_back(std::abs(forecast.remaining / remaining - 1));
        off_total.push_back(std::abs(forecast.remaining - remaining) / total);
        within += forecast.interval.low <= remaining && remaining <= forecast.interval.high ? 1 : 0;
        ++cases;
    }
};

void print_json(const std::vector<Curve>& curves) {
    std::cout << "[";
    std::string last;
    for (const Curve& curve : curves) {
        if (curve.application == last) continue;
        std::cout << (last.empty() ? "" : ", ") << "{\"application\": \"" << curve.application
                  << "\", \"target\": " << curve.target.metric << ", \"total\": " << curve.total
                  << ", \"points\": [";
        last = curve.application;
        for (std::size_t i = 0; i < curve.points.size(); ++i)
            std::cout << (i > 0 ? ", [" : "[") << curve.points[i].position << ", " << curve.points[i].metric
                      << "]";
        std::cout << "], \"forecasts\": [";
        std::vector<double> others;
        for (const Curve& other : curves)
            if (other.application == curve.application && other.file != curve.file)
                others.push_back(other.total);
        bool first = true;
        for (const double part : {0.1, 0.25, 0.5}) {
            const auto cut =
                static_cast<std::size_t>(std::ceil(part * static_cast<double>(curve.points.size())));
            const std::span<const CurvePoint> seen = std::span(curve.points).first(cut);
            const double passed = seen.back().position;
            if (passed >= curve.total) continue;
            for (const bool beside : {false, true}) {
                const goodput::CurveForecast forecast = goodput::forecast_curve(
                    seen, curve.target, passed, {.earlier_totals = beside ? others : std::vector<double>{}});
                std::cout << (first ? "" : ", ") << "[" << passed << ", " << beside << ", "
                          << passed + forecast.remaining << ", " << passed + forecast.interval.low << ", "
                          << passed + forecast.interval.high << "]";
                first = false;
            }
        }
        std::cout << "]}";
    }
    std::cout << "]\n";
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::cerr << "usage: learning_curves FOLDER [--json]\n";
        return 2;
    }
    const std::vector<Curve> curves = read_curves(arguments[1]);
    if (count > 2) {
        print_json(curves);
        return 0;
    }
    std::cout << std::setprecision(3);
    for (const double part : {0.1, 0.25, 0.5}) {
        std::cout << "cut at " << 100 * part << " %\n";
        std::map<std::string, Tally> alone, informed;
        Tally twice;
        for (const Curve& curve : curves) {
            const auto cut =
                static_cast<std::size_t>(std::ceil(part * static_cast<double>(curve.points.size())));
            const std::vector<CurvePoint> seen(curve.points.begin(),
                                               curve.points.begin() + static_cast<std::ptrdiff_t>(cut));
            const double passed = seen.back().position, remaining = curve.total - passed;
            if (!(remaining > 0)) continue;
            goodput::CurveForecastOptions options;
            const goodput::CurveForecast by_curve =
                goodput::forecast_curve(seen, curve.target, passed, options);
            for (const Curve& other : curves)
                if (other.application == curve.application && other.file != curve.file)
                    options.earlier_totals.push_back(other.total);
            const goodput::CurveForecast by_both =
                goodput::forecast_curve(seen, curve.target, passed, options);
            for (const std::string& name : {curve.application, std::string("all")}) {
                alone[name].add(by_curve, remaining, curve.total);
                informed[name + ", earlier"].add(by_both, remaining, curve.total);
            }
            twice.add(goodput::forecast_curve({}, curve.target, passed, {}), remaining, curve.total);
        }
        for (auto& [name, tally] : alone) tally.print(name);
        for (auto& [name, tally] : informed) tally.print(name);
        twice.print("twice what has passed");
    }
}
