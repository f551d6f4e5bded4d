// Precompiled for unit tests of what knows MLIR.
#include "Dataflow.h"

#include <catch2/catch.hpp>
