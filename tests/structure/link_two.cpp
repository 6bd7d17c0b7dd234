#include "goodput/goodput.hpp"

std::string_view version_of_the_other() { return goodput::version; }
