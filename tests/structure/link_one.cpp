// Two of these in one program: it links only if everything in the headers is inline or a template.
#include "goodput/goodput.hpp"

std::string_view version_of_the_other();

int main() { return version_of_the_other() == goodput::version ? 0 : 1; }
