#ifndef GOODPUT_PROOF_HPP
#define GOODPUT_PROOF_HPP

// Certificates for allotments that independent programs can check.

#include "goodput/proof/write_proof.hpp"

#endif
