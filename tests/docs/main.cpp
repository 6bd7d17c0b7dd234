// Runs the checks of docs_check.hpp: docs_check snippets|links|headers ROOT, docs_check console ROOT
// PROGRAMS. Prints a line per fault, and then exits with status 1.

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "docs_check.hpp"

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        docs::Report report;
        if (arguments.size() == 2 && arguments[0] == "snippets")
            report = docs::check_snippets(arguments[1]);
        else if (arguments.size() == 2 && arguments[0] == "links")
            report = docs::check_links(arguments[1]);
        else if (arguments.size() == 2 && arguments[0] == "headers")
            report = docs::check_headers(arguments[1]);
        else if (arguments.size() == 3 && arguments[0] == "console")
            report = docs::check_console(arguments[1], arguments[2]);
        else {
            std::cerr << "docs_check snippets|links|headers ROOT, or docs_check console ROOT PROGRAMS\n";
            return 2;
        }
        for (const std::string& fault : report.faults) std::cout << fault << '\n';
        for (const auto& [kind, count] : report.counts) std::cout << count << ' ' << kind << " checked\n";
        return report.faults.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "docs_check: " << error.what() << '\n';
        return 2;
    }
}
