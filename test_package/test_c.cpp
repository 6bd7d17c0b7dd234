#include <goodput/goodput.h>

int main() { return goodput_abi() == GOODPUT_ABI ? 0 : 1; }
